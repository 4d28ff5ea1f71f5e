"""Encode sources and store what the decoder reads of them, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from model.backends.joined_projections import Joined, MemoryProjection, self_projection
from model.backends.torch_cache import MemoryCache
from model.network.layers import KV, Attention
from model.network.transformer import Transformer


class EncodedShape(NamedTuple):
    """Sentences and tokens that are encoded together, padding included."""

    n_sentences: int
    n_tokens: int


class SourceEncoder:
    """Encodes a table of sources: (B, 2 + S) with the slot, the number of tokens and the ids of
    each sentence, padded on the right."""

    def __init__(self, model: Transformer, memory: MemoryCache) -> None:
        self._model, self._memory = model, memory
        self._projections = [
            self_projection(layer.self_attention) for layer in model.encoder_layers
        ]
        self._project_memory = MemoryProjection(model)

    def shape_for(self, n_sentences: int, n_tokens: int) -> EncodedShape:
        """The shape to pad sentences to, of which the longest has `n_tokens`."""
        return EncodedShape(n_sentences, n_tokens)

    def warm_up(self) -> None:
        """Nothing is slower the first time."""

    def encode(self, table: Tensor) -> None:
        """Encode a table on the device and store the memory in the slots."""
        self._memory.store(table[:, 0], self.encoded(table[:, 2:]), table[:, 1])

    def encoded(self, padded: Tensor) -> KV:
        """Padded sources (B, S) -> keys and values of the memory, (n_layers, B, H, S, E) each."""
        model = self._model
        x, mask = model.embed_source(padded)
        for layer, projection in zip(model.encoder_layers, self._projections, strict=True):
            x = layer.with_attention(x, _self_attention(layer.self_attention, projection, mask))
        return self._project_memory(model.encoder_norm(x))


def source_table(
    slots: Sequence[int], sources: Sequence[Sequence[int]], shape: EncodedShape, pad_id: int
) -> NDArray[np.int64]:
    """The table of these sources in a shape that has room for them. Rows that are left over repeat
    the first sentence, so that they write again what it writes."""
    table = np.full((shape.n_sentences, 2 + shape.n_tokens), pad_id, dtype=np.int64)
    for row, slot, ids in zip(table, slots, sources, strict=False):
        row[0], row[1] = slot, len(ids)
        row[2 : 2 + len(ids)] = ids
    table[len(sources) :] = table[0]
    return table


def _self_attention(
    attention: Attention, projection: Joined, mask: Tensor
) -> Callable[[Tensor], Tensor]:
    def attend(x: Tensor) -> Tensor:
        projected = projection(x).unflatten(-1, (3, attention.n_heads, -1))
        queries, keys, values = projected.permute(2, 0, 3, 1, 4).unbind(0)
        return attention.attend(queries, KV(keys, values), mask)

    return attend
