"""The building blocks against their formulas, computed here without tensors."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch
from torch import nn

from model.network import parameters
from model.network.config import ModelConfig
from model.network.layers import KV, Attention, Embedding, alibi_bias
from model.network.parameters import alibi_slopes, weight_shapes
from model.network.transformer import Transformer


def sinusoids(*arguments: Any, **options: Any) -> torch.Tensor:
    return torch.from_numpy(parameters.sinusoids(*arguments, **options))


def press_slopes(n_heads: int) -> list[float]:
    """The slopes as the code of Press et al. 2022 gives them, recursion included."""
    if math.log2(n_heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n_heads) - 3)))
        return [start * start**i for i in range(n_heads)]
    closest = 2 ** math.floor(math.log2(n_heads))
    return press_slopes(closest) + press_slopes(2 * closest)[0::2][: n_heads - closest]


@pytest.mark.parametrize("d_model", [2, 6, 16])
def test_sinusoids_follow_section_3_5(d_model: int) -> None:
    table = sinusoids(50, d_model)
    for position in (0, 1, 7, 49):
        for i in range(d_model // 2):
            angle = position / 10_000 ** (2 * i / d_model)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("d_model", [4, 6, 16])
def test_tensor2tensors_sinusoids_reach_the_wavelength_of_10000(d_model: int) -> None:
    table, half = sinusoids(50, d_model, "tensor2tensor"), d_model // 2
    for position in (0, 1, 49):
        for i in range(half):
            angle = position / 10_000 ** (i / (half - 1))
            assert table[position, i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, half + i].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 12, 16, 20])
def test_alibi_slopes_are_those_of_the_papers_code(n_heads: int) -> None:
    assert alibi_slopes(n_heads).tolist() == pytest.approx(press_slopes(n_heads))


def test_the_alibi_bias_falls_by_the_slope_with_each_position_of_distance() -> None:
    queries, keys = torch.tensor([[3], [5]]), torch.tensor([[0, 1, 2, 3, 4, 5]])
    bias = alibi_bias(torch.tensor([0.5, 0.25]), queries, keys)
    expected = [
        [[[-slope * abs(query - key) for key in range(6)]] for slope in (0.5, 0.25)]
        for query in (3, 5)
    ]
    torch.testing.assert_close(bias, torch.tensor(expected))


def test_attention_is_the_softmax_of_scaled_products_per_head() -> None:
    """Vaswani et al. 2017, equation 1, written out for every head and query."""
    attention, x = Attention(8, 2), torch.randn(1, 5, 8)
    q, (keys, values) = attention.q_proj(x).view(5, 2, 4), attention.project_kv(x)
    heads = [((q[:, h] @ keys[0, h].T / math.sqrt(4)).softmax(-1) @ values[0, h]) for h in range(2)]
    everything = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    expected = attention.out_proj(torch.cat(heads, -1))[None]
    torch.testing.assert_close(attention(x, KV(keys, values), everything), expected)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_absolute_positions_are_added_to_the_embedding(tiny_config: ModelConfig, kind: str) -> None:
    values = {**dataclasses.asdict(tiny_config), "positions": kind, "scale_embeddings": False}
    config = ModelConfig.from_dict(values)
    embedding = Embedding(config, nn.Embedding(10, config.d_model))
    learned = embedding.learned
    table = learned.weight if learned is not None else sinusoids(64, config.d_model)
    ids, positions = torch.tensor([[4, 4]]), torch.tensor([[9, 63]])
    expected = embedding.tokens.weight[[4, 4]] + table[[9, 63]]
    torch.testing.assert_close(embedding(ids, positions), expected[None])


def test_the_embedding_norm_is_on_the_sum_with_the_positions(tiny_config: ModelConfig) -> None:
    config = dataclasses.replace(tiny_config, embedding_norm=True)
    embedding = Embedding(config, nn.Embedding(10, config.d_model))
    ids, positions = torch.tensor([[4, 7]]), torch.tensor([[0, 1]])
    total = embedding.tokens.weight[[4, 7]] * 4 + sinusoids(64, config.d_model)[:2]
    expected = nn.functional.layer_norm(total, (config.d_model,))
    torch.testing.assert_close(embedding(ids, positions), expected[None])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "pre", "output_bias": True},
        {"positions": "learned", "shared_embeddings": "none"},
        {"positions": "alibi", "shared_embeddings": "target", "embedding_norm": True},
    ],
)
def test_the_shapes_of_the_weights_are_known_without_the_network(options: dict[str, Any]) -> None:
    config = ModelConfig(
        src_vocab_size=10, tgt_vocab_size=10, d_model=8, n_heads=2, d_ff=12, **options
    )
    weights = Transformer(config).weights
    assert weight_shapes(config) == {name: tuple(w.shape) for name, w in weights.items()}
