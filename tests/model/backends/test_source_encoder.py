"""Sources are encoded as by the reference network, whatever pads them."""

from __future__ import annotations

import pytest
import torch

from model.backends.source_encoder import EncodedShape, Projections, SourceEncoder, source_table
from model.backends.torch_cache import MemoryCache
from model.network.transformer import Transformer
from tests.model.network.reference import EOS, PAD, tiny_model
from tests.model.test_runner import VARIANTS

SOURCES = [[5, 7, EOS], [*[8, 9, 11] * 5, EOS], [4, EOS]]
SLOTS = [3, 0, 2]


def memory_of(model: Transformer, shape: EncodedShape) -> MemoryCache:
    memory = MemoryCache(model.config, 4, 32, model.output.weight)
    table = source_table(SLOTS, SOURCES, shape, PAD)
    SourceEncoder(model, memory).encode(torch.from_numpy(table))
    return memory


@torch.inference_mode()
@pytest.mark.parametrize("shape", [EncodedShape(3, 16), EncodedShape(4, 16), EncodedShape(8, 32)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_memory_is_that_of_the_reference_whatever_the_padding(
    variant: dict[str, object], shape: EncodedShape
) -> None:
    expected = tiny_model(seed=2, **variant)
    memory = memory_of(tiny_model(seed=2, **variant), shape)
    for slot, ids in zip(SLOTS, SOURCES, strict=True):
        projected = expected.project_memory(expected.encode(torch.tensor([ids])))
        assert memory.lengths[slot] == len(ids)
        for layer, (keys, values) in enumerate(projected):
            for store, part in ((memory.keys, keys), (memory.values, values)):
                found = store[layer, slot, :, : len(ids)]
                torch.testing.assert_close(found, part[0], atol=1e-5, rtol=1e-4)
    assert memory.num_written == shape.n_tokens
    assert not memory.keys[:, 1].any()


def test_joined_projections_hold_no_weight_twice_and_follow_training() -> None:
    model = tiny_model()
    before = {name: weight.clone() for name, weight in model.weights.items()}
    size = sum(weight.nbytes for weight in model.weights.values())
    memory = MemoryCache(model.config, 4, 32, model.output.weight)
    encoders = [SourceEncoder(model, memory) for _ in range(2)]
    storages = {weight.untyped_storage() for weight in model.weights.values()}
    assert sum(s.nbytes() for s in {s._cdata: s for s in storages}.values()) == size
    for name, weight in model.weights.items():
        assert torch.equal(weight, before[name])
    first, second = (encoder._projections[0] for encoder in encoders)
    assert first.weight.data_ptr() == second.weight.data_ptr()
    projection = model.encoder_layers[0].self_attention.v_proj
    with torch.no_grad():
        projection.weight.add_(1.0)
    assert torch.equal(first.weight[-16:], projection.weight)


def test_weights_that_were_replaced_are_joined_anew() -> None:
    attention = tiny_model().encoder_layers[0].self_attention
    projections = [attention.q_proj, attention.k_proj]
    old = Projections.of(projections)
    attention.k_proj.weight.data = attention.k_proj.weight.data.clone() + 1.0
    new = Projections.of(projections)
    assert torch.equal(new.weight, torch.cat([p.weight for p in projections]))
    assert new.weight.data_ptr() != old.weight.data_ptr()
