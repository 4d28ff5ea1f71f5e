"""Sources are encoded as by the reference network, whatever pads them."""

from __future__ import annotations

import pytest
import torch

from model.backends.pytorch.cache import MemoryCache
from model.backends.pytorch.source_encoder import EncodedShape, SourceEncoder, source_table
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
@pytest.mark.parametrize("shape", [EncodedShape(4, 16), EncodedShape(8, 32)])
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
