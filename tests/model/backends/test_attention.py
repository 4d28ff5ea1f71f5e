"""Laws of alignment's attention: every backend computes what the reference computes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from model.backends.native import PackedModel, kernel_names
from model.backends.pytorch.eager import EagerNetwork
from model.decoding.decoder import Capacity, WholeHypotheses
from model.network.attention_maps import attention_maps
from model.network.config import AttentionHead, default_heads
from model.network.transformer import Transformer
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.network.reference import BOS, CONTROL_IDS, EOS, encode, tiny_model

ROOM = Capacity(max_slots=4, max_rows=8, max_source_tokens=40, max_target_tokens=1100)
SOURCES = [[5, 7, 9, EOS], [4, 6, 8, 10, 12, *[5] * 25, EOS], [EOS], [7, EOS]]
TARGETS = [[5, 6, 7, 8, EOS], [9, 4], [11, *[12, 4] * 15, EOS], []]
SLOTS, ROWS = [2, 0, 3, 1], [5, 0, 7, 2]
VARIANTS: list[dict[str, object]] = [
    {},
    {"norm": "pre", "activation": "gelu", "d_model": 64, "n_heads": 1},
    {"positions": "alibi", "activation": "silu"},
    {"positions": "learned", "shared_embeddings": "none", "d_model": 80, "n_heads": 5},
    {"embedding_norm": True, "n_decoder_layers": 4},
]
ALL_HEADS = [(0, 0), (1, 0)]


def wide_tiny_model(**variant: object) -> Transformer:
    return tiny_model(**{"max_positions": 1100, **variant})  # type: ignore[arg-type]


def hypotheses(targets: Sequence[Sequence[int]] = TARGETS) -> WholeHypotheses:
    """With other ids behind each one's end, as the search leaves them."""
    most = max(map(len, targets)) + 2
    padded = [[*target, *[6] * (most - len(target))] for target in targets]
    lengths = torch.tensor([len(target) for target in targets])
    longest = max(map(len, SOURCES))
    return WholeHypotheses(SLOTS, ROWS, torch.tensor(padded), lengths, longest)


def computed(
    network: EagerNetwork | SteppedNetwork,
    heads: Sequence[AttentionHead],
    targets: Sequence[Sequence[int]] = TARGETS,
) -> list[Tensor]:
    """The attention of each hypothesis without what lies beyond it and its source."""
    encode(network, SLOTS, SOURCES)
    found = network.attention(hypotheses(targets), heads)
    pairs = zip(found, targets, SOURCES, strict=True)
    return [part[: len(target), : len(source)] for part, target, source in pairs]


@torch.inference_mode()
def reference(
    model: Transformer, heads: Sequence[AttentionHead], targets: Sequence[Sequence[int]] = TARGETS
) -> list[Tensor]:
    found = []
    for source, target in zip(SOURCES, targets, strict=True):
        maps = attention_maps(model, source, [BOS, *target][: max(len(target), 1)])
        chosen = torch.stack([maps.memory[layer, head] for layer, head in heads])
        found.append(chosen.mean(0)[: len(target)])
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_pytorch_attends_as_the_reference(variant: dict[str, object]) -> None:
    model = wide_tiny_model(**variant)
    for heads in (default_heads(model.config), [(0, 0)], ALL_HEADS):
        found = computed(EagerNetwork(model, CONTROL_IDS, ROOM), heads)
        for ours, theirs in zip(found, reference(model, heads), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kernels", kernel_names())
@pytest.mark.parametrize("variant", VARIANTS)
def test_our_code_attends_as_the_reference(variant: dict[str, object], kernels: str) -> None:
    """Bytes nearly so."""
    model = wide_tiny_model(**variant)
    for heads in (default_heads(model.config), [(0, 0)], ALL_HEADS):
        expected = reference(model, heads)
        for is_quantised, tolerance in ((False, 2e-5), (True, 0.05)):
            packed = PackedModel(model, CONTROL_IDS, is_quantised, kernels)
            for ours, theirs in zip(
                computed(SteppedNetwork(packed, ROOM), heads), expected, strict=True
            ):
                torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=1e-4)


@pytest.mark.parametrize(("layers", "expected"), [(1, 0), (2, 1), (4, 2), (12, 10)])
def test_heads_that_nobody_chose_are_those_of_one_layer(layers: int, expected: int) -> None:
    heads = default_heads(tiny_model(n_decoder_layers=layers).config)
    assert heads == ((expected, 0), (expected, 1))
    assert math.prod(map(len, heads)) == 4
