"""Caches: the decoder's own history by row, keys and values of the memory by slot.

A running sentence holds one slot, and one row per hypothesis of its beam. Both caches are
allocated once. Live rows are 0..R-1 and live slots 0..N-1, so steps read plain slices.

Steps also read positions that no token of the sentence has filled yet, and mask them. A mask does
not stop NaN, so a sentence gets cleared rows and slots, and moves with all positions. Positions
that were never written are zero; each cache knows how many were (`num_written`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.backends.pytorch.rows import RowTable
from model.decoding.decoder import StepShape
from model.network.config import ModelConfig
from model.network.layers import KV, MultiHeadAttention, StateUpdate, additive


class RowCache:
    """Decoder self-attention keys and values; one row holds one live hypothesis.

    keys, values: (n_layers, n_rows, H, max_length, E), views of one tensor.
    """

    def __init__(self, config: ModelConfig, n_rows: int, max_length: int, like: Tensor) -> None:
        """Device and precision are those of `like`."""
        self._both = _empty(config, n_rows, max_length, like)
        self.keys, self.values = self._both.unbind(0)
        self.num_written = 0

    @property
    def planes(self) -> Tensor:
        """The keys and the values of each layer (2 n_layers, n_rows, H, max_length, E), a view."""
        return self._both.flatten(0, 1)

    def append(self, layer: int, positions: Tensor, new: KV, length: int) -> KV:
        """Store one position of each live row and return the first `length` positions.

        positions (R,), new (R, H, 1, E) -> (R, H, length, E), views of the cache.
        """
        self.num_written = max(self.num_written, length)
        place = positions[:, None, None, None].expand_as(new.keys)
        live = [store[layer, : len(positions)] for store in (self.keys, self.values)]
        for store, added in zip(live, new, strict=True):
            store.scatter_(2, place, added)
        return KV(*(store[:, :, :length] for store in live))

    def copy(self, targets: Tensor, sources: Tensor, length: int) -> None:
        """Copy the first `length` positions of rows `sources` (n,) to rows `targets` (n,).

        Reads all sources before it writes. First keys, then values: n may be all rows, and the copy
        that was read takes as much memory as they do."""
        for store in (self.keys, self.values):
            store[:, targets, :, :length] = store[:, sources, :, :length]

    def move(self, targets: Tensor, sources: Tensor) -> None:
        """Copy rows `sources` (n,) to rows `targets` (n,). No row is both."""
        written = self._both[:, :, :, :, : self.num_written]
        written.index_copy_(2, targets, written.index_select(2, sources))

    def clear(self, rows: Tensor) -> None:
        """Fill rows (n,) with zeros."""
        self._both[:, :, :, :, : self.num_written].index_fill_(2, rows, 0.0)


class RowStates:
    """The states of SSRUs; one row holds one live hypothesis.

    planes: (n_layers, n_rows, 1, 1, D), as of a `RowCache` of one position.
    """

    def __init__(self, config: ModelConfig, n_rows: int, like: Tensor) -> None:
        """Device and precision are those of `like`."""
        self.planes = like.new_zeros(config.n_decoder_layers, n_rows, 1, 1, config.d_model)

    def advance(self, layer: int, update: StateUpdate) -> Tensor:
        """Change the states of the live rows, and return them (R, 1, D)."""
        live = self.planes[layer, : len(update.added), 0]
        return live.mul_(update.forget).add_(update.added)

    def copy(self, targets: Tensor, sources: Tensor, length: int) -> None:
        """Copy rows `sources` (n,) to rows `targets` (n,). Reads all sources before it writes."""
        self.planes[:, targets] = self.planes[:, sources]

    def move(self, targets: Tensor, sources: Tensor) -> None:
        """As `copy`."""
        self.planes.index_copy_(1, targets, self.planes.index_select(1, sources))

    def clear(self, rows: Tensor) -> None:
        """Fill rows (n,) with zeros."""
        self.planes.index_fill_(1, rows, 0.0)


History = RowCache | RowStates
"""What the decoder knows of each row's own tokens."""


def make_history(config: ModelConfig, n_rows: int, max_length: int, like: Tensor) -> History:
    """The history of this many rows; device and precision are those of `like`."""
    if config.autoregression == "ssru":
        return RowStates(config, n_rows, like)
    return RowCache(config, n_rows, max_length, like)


class MemoryCache:
    """The memory's keys and values, projected once per layer; one slot holds one sentence.

    keys, values: (n_layers, n_slots, H, max_length, E), views of one tensor; lengths: (n_slots,)
    source tokens.
    """

    def __init__(self, config: ModelConfig, n_slots: int, max_length: int, like: Tensor) -> None:
        """Device and precision are those of `like`."""
        self._both = _empty(config, n_slots, max_length, like)
        self.keys, self.values = self._both.unbind(0)
        self.lengths = like.new_zeros(n_slots, dtype=torch.int64)
        self.num_written = 0

    def store(self, slots: Tensor, projected: Tensor, lengths: Tensor) -> None:
        """Store all layers' keys and values (2, n_layers, B, H, S, E) in the slots (B,); lengths
        (B,) mask the padding."""
        length = projected.size(4)
        self.num_written = max(self.num_written, length)
        self._both[:, :, :, :, :length].index_copy_(2, slots, projected)
        self.lengths.index_copy_(0, slots, lengths)

    def read(self, slots: Tensor, length: int) -> list[KV]:
        """A copy of the first `length` positions of the slots (B,), by layer: (B, H, S, E)."""
        return [
            KV(keys[slots, :, :length], values[slots, :, :length])
            for keys, values in zip(self.keys, self.values, strict=True)
        ]

    def mask(self, slots: Tensor, length: int) -> Tensor:
        """Which of the first `length` positions the slots (B,) hold: (B, 1, 1, S)."""
        positions = torch.arange(length, device=slots.device)
        return (positions < self.lengths[slots][:, None])[:, None, None, :]

    def move(self, targets: Tensor, sources: Tensor) -> None:
        """Copy the sentences of slots `sources` (n,) to slots `targets` (n,)."""
        written = self._both[:, :, :, :, : self.num_written]
        written.index_copy_(2, targets, written.index_select(2, sources))
        self.lengths.index_copy_(0, targets, self.lengths.index_select(0, sources))

    def clear(self, slots: Tensor) -> None:
        """Fill slots (n,) with zeros."""
        self._both[:, :, :, :, : self.num_written].index_fill_(2, slots, 0.0)


def _empty(config: ModelConfig, count: int, max_length: int, like: Tensor) -> Tensor:
    """Keys and values of `count` rows or slots: (2, n_layers, count, H, max_length, E)."""
    heads = (config.n_heads, max_length, config.head_dim)
    return like.new_zeros(2, config.n_decoder_layers, count, *heads)


class StepRows:
    """One decoding step's view of the caches: `transformer.StepContext`.

    positions (R,): the position of each row's new token. `shape_of_step` bounds the reads.
    """

    def __init__(
        self,
        rows: History,
        memory: MemoryCache,
        table: RowTable,
        positions: Tensor,
        shape_of_step: StepShape,
    ) -> None:
        self._rows, self._memory, self._table = rows, memory, table
        self.positions = positions
        self._target_length, self._source_length = shape_of_step
        sources = torch.arange(shape_of_step.source, device=positions.device)
        n_slots, width = table.by_slot.shape
        self._rows_of_slots = table.by_slot.flatten()
        self._places_in_slots = table.slots * width + table.beams
        lengths = memory.lengths[:n_slots]
        mask = (sources < lengths[:, None])[:, None, None, :]
        self._memory_bias = additive(mask, memory.keys.dtype)

    def key_positions(self) -> Tensor:
        return torch.arange(self._target_length, device=self.positions.device)

    def remember(self, layer: int, new: KV) -> KV:
        assert isinstance(self._rows, RowCache)
        return self._rows.append(layer, self.positions, new, self._target_length)

    def advance(self, layer: int, update: StateUpdate) -> Tensor:
        assert isinstance(self._rows, RowStates)
        return self._rows.advance(layer, update)

    def attend_memory(self, layer: int, attention: MultiHeadAttention, x: Tensor) -> Tensor:
        """Attend to the memory once per sentence; its hypotheses share it without a copy.

        x (R, 1, D) is grouped to (N, K, D), attends to (N, H, S, E), and returns to (R, 1, D).
        """
        by_slot = self._table.by_slot
        live = slice(0, by_slot.size(0))
        kv = KV(
            self._memory.keys[layer, live, :, : self._source_length],
            self._memory.values[layer, live, :, : self._source_length],
        )
        queries = x.squeeze(1).index_select(0, self._rows_of_slots).unflatten(0, by_slot.shape)
        grouped = attention(queries, kv, self._memory_bias).flatten(0, 1)
        return grouped.index_select(0, self._places_in_slots)[:, None]
