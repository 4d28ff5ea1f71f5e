"""Laws of the networks: our CPU code computes what PyTorch computes, bytes nearly so."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.backends.native import (
    PackedModel,
    choose_instruction_set,
    has_fast_int8,
    kernel_names,
    library,
)
from model.backends.native import network as native_network
from model.backends.pytorch.eager import EagerNetwork, padded
from model.backends.pytorch.rows import RowTable
from model.backends.selection import resolve_backend, resolve_precision
from model.decoding.decoder import BatchRows, Capacity, StepShape
from model.decoding.slot_allocator import BatchView
from model.network import config
from model.network.transformer import Transformer
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.network.reference import BOS, CONTROL_IDS, EOS, VARIANTS, encode, tiny_model

ROOM = Capacity(max_slots=3, max_rows=6, max_source_tokens=40, max_target_tokens=40)
SOURCES = [[5, 7, 9, EOS], [4, 6, 8, 10, 12, *[5] * 25, EOS]]
TABLE = RowTable(
    torch.tensor([[0, 1], [2, 2]]),
    slots=torch.tensor([0, 0, 1]),
    beams=torch.tensor([0, 1, 0]),
    members=torch.arange(2),
    rows=torch.arange(3),
    drawn=torch.empty(0, dtype=torch.int64),
)
EXTENT = StepShape(40, 40)
CHOICES = {
    "norm": config.Norm,
    "norm_kind": config.NormKind,
    "positions": config.Positions,
    "sinusoids": config.Sinusoids,
    "activation": config.Activation,
    "shared_embeddings": config.SharedEmbeddings,
    "autoregression": config.Autoregression,
}


def native(
    model: Transformer, capacity: Capacity, is_quantised: bool, kernels: str | None = None
) -> SteppedNetwork:
    return SteppedNetwork(PackedModel(model, CONTROL_IDS, is_quantised, kernels), capacity)


def steps(
    network: EagerNetwork | SteppedNetwork, num_steps: int, reorder_at: int = -1
) -> list[Tensor]:
    """Two sentences with three hypotheses: the logits of each step."""
    encode(network, [0, 1], SOURCES)
    logits = []
    tokens = torch.full((3,), BOS)
    for t in range(num_steps):
        network.step(tokens, torch.full((3,), t), TABLE, StepShape(t + 1, 40))
        logits.append(network.logits().clone())
        if t == reorder_at:
            network.reorder(torch.tensor([1, 0, 2]), t + 1)
        tokens = torch.tensor([4 + t % 8, 11 - t % 7, 5 + t % 5])
    return logits


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("variant", VARIANTS)
@torch.inference_mode()
def test_our_code_gives_the_logits_that_pytorch_gives(
    variant: dict[str, Any], kernels: str
) -> None:
    """With every instruction set that runs here. Bytes give those of the slowest one: their sums
    are whole numbers until they are scaled."""
    model = tiny_model(**variant)
    floats = EagerNetwork(model, CONTROL_IDS, ROOM)
    slowest = native(model, ROOM, is_quantised=True, kernels=kernel_names()[-1])
    for is_quantised, reference, num_steps, reorder_at, tolerance in (
        (False, floats, 20, 6, 2e-5),
        (True, slowest, 12, -1, 0.02),
    ):
        expected = steps(reference, num_steps, reorder_at)
        found = steps(native(model, ROOM, is_quantised, kernels), num_steps, reorder_at)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=1e-4)


SHAPES = st.fixed_dictionaries(
    {
        "d_model": st.integers(4, 32).map(lambda half: 2 * half),
        "n_heads": st.integers(1, 4),
        "d_head": st.integers(1, 12),
        "d_ff": st.integers(1, 40),
        "n_encoder_layers": st.integers(1, 2),
        "n_decoder_layers": st.integers(1, 2),
        "vocab_size": st.integers(13, 40),
        **{name: st.booleans() for name in ("gated", "embedding_norm", "scale_attention")},
        **{name: st.sampled_from(get_args(kind)) for name, kind in CHOICES.items()},
    }
)


@settings(max_examples=30, deadline=None)
@example({"autoregression": "ssru", "d_model": 512, "n_heads": 1, "d_head": 4, "d_ff": 8})
@given(SHAPES)
@torch.inference_mode()
def test_our_code_computes_any_shape_as_pytorch_does(shape: dict[str, Any]) -> None:
    """With as many rows as there is room for."""
    model = tiny_model(**shape)
    room = Capacity(max_slots=2, max_rows=40, max_source_tokens=40, max_target_tokens=40)
    part = BatchView(range(2), [range(15), range(15, 40)])
    table = RowTable.of(BatchRows(part, []), torch.device("cpu"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_network, "_BATCH_TOKENS", 1)
        networks = [EagerNetwork(model, CONTROL_IDS, room), native(model, room, is_quantised=False)]
    for one in networks:
        encode(one, part.slots, SOURCES)
    for t in range(4):
        for one in networks:
            one.step((torch.arange(40) + t) % 9 + 4, torch.full((40,), t), table, EXTENT)
        theirs, ours = (one.logits() for one in networks)
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)


@torch.inference_mode()
def test_our_code_reads_embeddings_that_float16_holds_as_pytorch_does() -> None:
    """Also numbers below 2^-14, which float16 holds with fewer bits."""
    model = tiny_model()
    for table in (model.src_embedding.tokens.weight, model.tgt_embedding.tokens.weight):
        table[::2] *= 1e-4
        table.copy_(table.half())
    expected = steps(EagerNetwork(model, CONTROL_IDS, ROOM), 12)
    for embedding in (model.src_embedding, model.tgt_embedding):
        embedding.tokens.weight.data = embedding.tokens.weight.half()
    for ours, theirs in zip(steps(native(model, ROOM, False), 12), expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("is_quantised", [False, True])
@torch.inference_mode()
def test_sentences_shared_among_threads_score_the_same(is_quantised: bool) -> None:
    """So many that each thread takes some through all layers, of very different lengths, their
    rows scattered."""
    rng = random.Random(3)
    model = tiny_model(d_model=64, vocab_size=500)
    capacity = Capacity(max_slots=16, max_rows=64, max_source_tokens=40, max_target_tokens=40)
    rows = rng.sample(range(64), 64)
    part = BatchView(range(16), [sorted(rows[4 * slot : 4 * slot + 4]) for slot in range(16)])
    table = RowTable.of(BatchRows(part, []), torch.device("cpu"))
    sources = [[rng.randrange(4, 500) for _ in range(rng.randint(1, 39))] for _ in part.slots]
    networks = [native(model, capacity, is_quantised) for _ in range(3)]
    found = []
    for threads, network in enumerate(networks, start=1):
        network.use_threads(threads)
        encode(network, part.slots, sources)
        for t in range(12):
            network.step((torch.arange(64) + t) % 400 + 4, torch.full((64,), t), table, EXTENT)
        found.append(network.logits())
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], atol=0, rtol=0)


def test_the_instruction_set_is_the_one_asked_for_or_else_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "kernel_names", lambda: ["vnni", "avx2", "baseline"])
    monkeypatch.setenv("DRAGOMAN_INSTRUCTION_SET", "avx2")
    assert [choose_instruction_set(name) for name in (None, "auto", "baseline")] == [
        *("avx2", "vnni", "baseline")
    ]
    assert resolve_precision("auto", "cpu") == "int8"
    assert resolve_precision("auto", "cpu", "baseline") == "float32"
    assert resolve_precision("int8", "cpu", "baseline") == "int8"
    monkeypatch.setenv("DRAGOMAN_INSTRUCTION_SET", "amx")
    refusal = "the instruction set amx was asked for, but this CPU has vnni, avx2, baseline"
    with pytest.raises(ValueError, match=refusal):
        PackedModel(tiny_model(), CONTROL_IDS, False)


def test_precision_is_chosen_by_the_device_and_refused_where_it_cannot_be_had() -> None:
    assert resolve_precision("auto", "cpu") == ("int8" if has_fast_int8() else "float32")
    assert resolve_precision("auto", "cuda") == "float16"
    assert resolve_precision("bfloat16", "cpu") == "bfloat16"
    for name, device, message in (
        ("int4", "cpu", "must be one of auto, float32, bfloat16, float16, int8, got 'int4'"),
        ("float16", "cpu", "float16 needs a GPU"),
        ("int8", "cuda", "int8 is for the CPU"),
    ):
        with pytest.raises(ValueError, match=message):
            resolve_precision(name, device)


def test_the_backend_is_chosen_by_the_device_and_refused_where_it_cannot_be_had() -> None:
    assert resolve_backend("auto", "cpu", "int8") == "native"
    assert resolve_backend("auto", "cpu", "bfloat16") == "eager"
    assert resolve_backend("auto", "cuda", "float16") == "graphs"
    assert resolve_backend("eager", "cuda", "float16") == "eager"
    for name, device, precision, message in (
        ("fast", "cpu", "float32", "must be one of auto, native, eager.*, got 'fast'"),
        ("native", "cuda", "float16", "native needs a CPU.*here are cuda and float16"),
        ("native", "cpu", "bfloat16", "native needs a CPU, precision float32 or int8"),
        ("graphs", "cpu", "float32", "graphs needs a GPU"),
        ("eager", "cpu", "int8", "eager cannot compute in int8"),
    ):
        with pytest.raises(ValueError, match=message):
            resolve_backend(name, device, precision)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("device", "backend"),
    [("cpu", "native"), ("cpu", "eager"), ("cuda", "eager"), ("cuda", "graphs")],
)
@pytest.mark.parametrize("instruction_set", ["auto", "baseline"])
def test_the_backend_that_is_asked_for_computes_in_the_precision_that_is_chosen(
    device: str, backend: str, instruction_set: str
) -> None:
    precision = resolve_precision("auto", device, instruction_set, backend)
    assert resolve_backend(backend, device, precision) == backend


def test_a_padded_output_matrix_is_the_same_weight_and_is_padded_once() -> None:
    model = tiny_model(vocab_size=13)
    before, ids = model.output.weight.detach().clone(), torch.tensor([[4, 12, EOS]])
    expected = model(ids, ids)
    whole = padded(model.output.weight)
    assert whole.shape == (16, 16)
    assert whole[:13].equal(before)
    assert not whole[13:].any()
    assert padded(model.output.weight).data_ptr() == whole.data_ptr()
    assert model.tgt_embedding.tokens.weight is model.output.weight
    assert model(ids, ids).equal(expected)
