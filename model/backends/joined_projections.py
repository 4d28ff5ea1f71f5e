"""Projections of the same input as one matrix product.

No weight is held twice: those of the model become views of the joined ones, so that a second
network of the model, or a second call, shares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.layers import KV, Attention
from model.network.transformer import Transformer


class Joined(NamedTuple):
    """Weight (n D, D) and bias (n D,) of n projections."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, projections: Sequence[nn.Linear]) -> Joined:
        """Join projections of one shape; do not change their weights' type or device afterwards."""
        weights = [projection.weight for projection in projections]
        return cls(_joined(weights), _joined([projection.bias for projection in projections]))

    def __call__(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., n D)."""
        return F.linear(x, self.weight, self.bias)


def self_projection(attention: Attention) -> Joined:
    """Queries, keys and values of self-attention."""
    return Joined.of([attention.q_proj, attention.k_proj, attention.v_proj])


class MemoryProjection:
    """The keys and values of the memory for all decoder layers."""

    def __init__(self, model: Transformer) -> None:
        layers = [layer.memory_attention for layer in model.decoder_layers]
        keys, values = [layer.k_proj for layer in layers], [layer.v_proj for layer in layers]
        self._joined = Joined.of([*keys, *values])
        self._sizes = (2, len(layers), model.config.n_heads, model.config.head_dim)

    def __call__(self, memory: Tensor) -> KV:
        """memory (B, S, D) -> keys and values, (n_layers, B, H, S, E) each."""
        projected = self._joined(memory).unflatten(-1, self._sizes)
        return KV(*projected.permute(2, 3, 0, 4, 1, 5).unbind(0))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Tensors of one shape joined along dimension 0; they become views of the result."""
    first, *_ = parts
    shape = (first.size(0) * len(parts), *first.shape[1:])
    if first.untyped_storage().nbytes() == first.nbytes * len(parts):
        joined = first.detach().as_strided(shape, first.stride(), 0)
        pairs = zip(parts, joined.split(first.size(0)), strict=True)
        if all(part.is_set_to(view) for part, view in pairs):
            return joined
    joined = torch.cat([part.detach() for part in parts])
    for part, view in zip(parts, joined.split(first.size(0)), strict=True):
        part.data = view
    return joined
