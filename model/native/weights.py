"""A model's weights as network.cpp takes them: one after the other, in float32.

Each is asked for when it is packed and may be gone afterwards, so that a model never lies in memory
whole besides its packed copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.config import ModelConfig
from model.layers import alibi_slopes, sinusoids
from model.native.library import address

_SOURCE_TOKENS, _TARGET_TOKENS = "src_embedding.tokens.weight", "tgt_embedding.tokens.weight"
Weights = Mapping[str, Tensor]


class Tables(NamedTuple):
    """`Tables` of network.h, which is read where it lies: tokens (V, D), positions (P, D), (H,)."""

    source: Tensor
    source_positions: Tensor | None
    target: Tensor
    target_positions: Tensor | None
    slopes: Tensor | None


def tables_of(config: ModelConfig, weights: Weights) -> Tables:
    """What is shared stays one."""
    source = _float(weights[_SOURCE_TOKENS])
    target = _float(weights[_TARGET_TOKENS]) if _TARGET_TOKENS in weights else source
    positions: tuple[Tensor | None, Tensor | None] = (None, None)
    if config.positions == "sinusoidal":
        table = sinusoids(
            config.max_positions, config.d_model, config.sinusoids, config.position_offset
        )
        positions = (table, table)
    elif config.positions == "learned":
        names = ("src_embedding.learned.weight", "tgt_embedding.learned.weight")
        positions = (_float(weights[names[0]]), _float(weights[names[1]]))
    slopes = alibi_slopes(config.n_heads) if config.positions == "alibi" else None
    return Tables(source, positions[0], target, positions[1], slopes)


class WeightSupply:
    """What the compiled network calls for the address of its next weight.

    The last two stay alive. `error` is why one could not be had; then there are no more.
    """

    def __init__(self, weights: Iterator[Tensor | None]) -> None:
        self._weights = weights
        self._held: deque[Tensor | None] = deque(maxlen=2)
        self.error: Exception | None = None

    def __call__(self) -> int | None:
        try:
            self._held.append(next(self._weights, None))
        except Exception as error:  # must not reach the compiled caller
            self.error = error
            return None
        return address(self._held[-1])


def packed_weights(
    config: ModelConfig, weights: Weights, tables: Tables, control_ids: Sequence[int]
) -> Iterator[Tensor | None]:
    """In the order in which network.cpp packs them; None for a norm that the model lacks."""
    yield from _norm(weights, "src_embedding.norm")
    yield from _norm(weights, "tgt_embedding.norm")
    for i in range(config.n_encoder_layers):
        yield from _encoder_layer(weights, f"encoder.{i}")
    yield from _norm(weights, "encoder_norm")
    for i in range(config.n_decoder_layers):
        yield from _decoder_layer(weights, f"decoder.{i}")
    yield from _norm(weights, "decoder_norm")
    yield _float(weights["output.weight"]) if "output.weight" in weights else tables.target
    yield _output_bias(weights, config.tgt_vocab_size, control_ids)


def _encoder_layer(weights: Weights, layer: str) -> Iterator[Tensor | None]:
    yield from _norm(weights, f"{layer}.self_attention_residual.norm")
    yield from _self_attention(weights, f"{layer}.self_attention")
    yield from _feed_forward(weights, layer)


def _decoder_layer(weights: Weights, layer: str) -> Iterator[Tensor | None]:
    memory = f"{layer}.memory_attention"
    yield from _norm(weights, f"{layer}.self_attention_residual.norm")
    yield from _self_attention(weights, f"{layer}.self_attention")
    yield from _norm(weights, f"{layer}.memory_attention_residual.norm")
    yield from _joined(weights, f"{memory}.q_proj")
    yield from _joined(weights, f"{memory}.k_proj", f"{memory}.v_proj")
    yield from _joined(weights, f"{memory}.out_proj")
    yield from _feed_forward(weights, layer)


def _feed_forward(weights: Weights, layer: str) -> Iterator[Tensor | None]:
    yield from _norm(weights, f"{layer}.feed_forward_residual.norm")
    yield from _joined(weights, f"{layer}.feed_forward.expand")
    yield from _joined(weights, f"{layer}.feed_forward.contract")


def _self_attention(weights: Weights, attention: str) -> Iterator[Tensor]:
    yield from _joined(weights, *(f"{attention}.{side}_proj" for side in "qkv"))
    yield from _joined(weights, f"{attention}.out_proj")


def _joined(weights: Weights, *layers: str) -> Iterator[Tensor]:
    """Layers with the same input as one: weight and bias."""
    for kind in ("weight", "bias"):
        parts = [_float(weights[f"{layer}.{kind}"]) for layer in layers]
        yield parts[0] if len(parts) == 1 else torch.cat(parts)


def _norm(weights: Weights, norm: str) -> Iterator[Tensor | None]:
    for kind in ("weight", "bias"):
        name = f"{norm}.{kind}"
        yield _float(weights[name]) if name in weights else None


def _output_bias(weights: Weights, size: int, control_ids: Sequence[int]) -> Tensor:
    """A bias of -inf keeps control ids from ever being chosen."""
    has_bias = "output.bias" in weights
    bias = _float(weights["output.bias"]).clone() if has_bias else torch.zeros(size)
    bias[list(control_ids)] = float("-inf")
    return bias


def _float(weight: Tensor) -> Tensor:
    return weight.detach().to(torch.float32).contiguous()
