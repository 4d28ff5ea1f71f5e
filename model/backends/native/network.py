"""`model.decoding.network_interface.Network` in our C++ for CPUs.

Keys and values never move between rows: a hypothesis that continues another one copies only the
list that maps each position to its row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from model.backends.native.library import Mirrored, address, free_with, required_library
from model.backends.native.packed import PackedModel
from model.backends.pytorch.transfer import Transfer
from model.decoding.network_interface import (
    Capacity,
    RowCandidates,
    RowTable,
    StepShape,
    WholeHypotheses,
)
from model.decoding.slot_allocator import BatchView, Compaction
from model.network.attention_maps import AttentionHead

_BATCH_TOKENS = 1024


class _Room(Mirrored):
    """`Capacity` of network.h."""

    _fields_ = tuple(
        (name, ctypes.c_int32)
        for name in (
            *("max_rows", "max_slots", "max_source_tokens", "max_target_tokens"),
            "max_batch_tokens",
        )
    )


class _StepTable(Mirrored):
    """`StepTable` of decode.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("slots", "rows")),
        *((name, ctypes.c_void_p) for name in ("members", "row")),
    )


class CompiledPart:
    """A batch view for the compiled library: its slots (N,) and all their rows (R,)."""

    def __init__(self, view: BatchView) -> None:
        self.slots = np.array(view.slots, dtype=np.int64)
        self._rows = np.array(view.rows, dtype=np.int32)
        self.width = max(map(len, view.groups))
        sizes = (len(self.slots), len(self._rows))
        self._table = _StepTable(*sizes, address(self.slots), address(self._rows))
        self.table = ctypes.byref(self._table)


class NativeNetwork:
    """Computes with the weights of a packed model; owns the caches of keys and values."""

    can_step_subset = True

    def __init__(self, packed: PackedModel, capacity: Capacity) -> None:
        """Raises MemoryError if the caches do not fit, OSError if threads cannot start."""
        self._library = library = required_library()
        self._packed, self._config = packed, packed.config
        self._batch_tokens = max(
            _BATCH_TOKENS,
            capacity.max_source_tokens,
            capacity.max_target_tokens,
            capacity.max_rows,
        )
        compiled_room = ctypes.byref(
            _Room(**capacity._asdict(), max_batch_tokens=self._batch_tokens)
        )
        self._network = ctypes.c_void_p()
        try:
            library.dragoman_new(packed.handle, compiled_room, ctypes.byref(self._network))
        except MemoryError as error:
            raise MemoryError("the caches do not fit into memory") from error
        free_with(self, library.dragoman_delete, self._network)
        self._stepped_rows = torch.empty(0, dtype=torch.int32)
        self._num_threads = 1
        self.share_cores(1)

    def share_cores(self, sharers: int) -> None:
        self.use_threads(max(1, torch.get_num_threads() // sharers))

    def use_threads(self, num_threads: int) -> None:
        """Set the number of threads."""
        if num_threads != self._num_threads:
            self._library.dragoman_use_threads(self._network, num_threads)
            self._num_threads = num_threads

    def warm_up(self) -> None:
        """Do nothing: no step is slow the first time."""

    def clear(self, slots: Sequence[int], rows: Sequence[int], transfer: Transfer) -> None:
        """Do nothing: a step reads only what its own sentences wrote."""

    def encode(
        self, slots: Sequence[int], sources: Sequence[Sequence[int]], transfer: Transfer
    ) -> None:
        """Encode at once, in batches that fit the compiled network's buffers, without padding."""
        start, num_tokens = 0, 0
        for end, source in enumerate(sources):
            if num_tokens + len(source) > self._batch_tokens:
                self._encode(slots[start:end], sources[start:end])
                start, num_tokens = end, 0
            num_tokens += len(source)
        self._encode(slots[start:], sources[start:])

    def encoded(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> Tensor:
        """Encode as one batch -> the encoder's output (all tokens, D)."""
        num_tokens = sum(map(len, sources))
        memory = torch.empty(num_tokens, self._config.d_model)
        self._encode(slots, sources, memory)
        return memory

    def _encode(
        self,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        memory: Tensor | None = None,
    ) -> None:
        ids = np.array(list(chain.from_iterable(sources)), dtype=np.int64)
        lengths = np.array([len(source) for source in sources], dtype=np.int32)
        where = np.array(slots, dtype=np.int32)
        arguments = (address(ids), address(lengths), address(where), address(memory))
        self._library.dragoman_encode(self._network, len(sources), *arguments)

    def step(
        self, tokens: Tensor, positions: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> None:
        rows, slots, order = table.rows.int(), table.slots.int(), table.slots.argsort().int()
        addresses = [address(tensor) for tensor in (tokens, positions, rows, slots, order)]
        self._library.dragoman_step(self._network, len(rows), *addresses)
        self._stepped_rows = rows

    def decode(self, search: object, view: CompiledPart, length: int) -> int:
        """Run a whole step, including the searches of `NativeSearch.state` -> the number that
        ended."""
        count = min(2 * view.width, self._config.tgt_vocab_size)
        return self._library.dragoman_decode(self._network, search, view.table, count, length)

    def logits(self) -> Tensor:
        logits = torch.empty(len(self._stepped_rows), self._config.tgt_vocab_size)
        self._library.dragoman_logits(self._network, address(logits))
        return logits

    def rank(self, count: int) -> RowCandidates:
        count = min(count, self._config.tgt_vocab_size)
        log_probs = torch.empty(len(self._stepped_rows), count)
        tokens = torch.empty(len(self._stepped_rows), count, dtype=torch.int64)
        self._library.dragoman_rank(self._network, count, address(log_probs), address(tokens))
        return RowCandidates(log_probs, tokens, log_probs[:, 0].isnan())

    def attention(self, hypotheses: WholeHypotheses, heads: Sequence[AttentionHead]) -> Tensor:
        """Compute in batches that fit the compiled network's buffers, without padding."""
        lengths = hypotheses.lengths.tolist()
        found = torch.zeros(*hypotheses.tokens.shape, hypotheses.longest_source)
        start, num_tokens = 0, 0
        for end, length in enumerate(lengths):
            if num_tokens + length > self._batch_tokens:
                self._record(range(start, end), hypotheses, lengths, heads, found)
                start, num_tokens = end, 0
            num_tokens += length
        self._record(range(start, len(lengths)), hypotheses, lengths, heads, found)
        return found

    def _record(
        self,
        places: range,
        hypotheses: WholeHypotheses,
        lengths: Sequence[int],
        heads: Sequence[AttentionHead],
        found: Tensor,
    ) -> None:
        """Write the attention of the hypotheses at `places` to `found` (N, T, S)."""
        counts = np.array([lengths[place] for place in places])
        rows, slots = (
            np.repeat(np.array(values[places.start : places.stop], dtype=np.int32), counts)
            for values in (hypotheses.rows, hypotheses.slots)
        )
        if not len(rows):
            return
        positions = [np.arange(count) for count in counts]
        tokens = [
            np.insert(hypotheses.tokens[place, : count - 1].numpy(), 0, self._config.bos_id)
            for place, count in zip(places, counts, strict=True)
            if count
        ]
        numbers = np.array([layer * self._config.n_heads + head for layer, head in heads], np.int32)
        values = torch.zeros(len(rows), hypotheses.longest_source)
        order = np.arange(len(rows), dtype=np.int32)
        arrays = (np.concatenate(tokens), np.concatenate(positions), rows, slots, order)
        self._library.dragoman_attention(
            self._network,
            len(rows),
            *map(address, arrays),
            len(numbers),
            address(numbers),
            address(values),
            values.size(1),
        )
        for place, part in zip(places, values.split(counts.tolist()), strict=True):
            found[place, : len(part)] = part

    def reorder(self, sources: Tensor, length: int) -> None:
        addresses = (address(self._stepped_rows), address(sources))
        self._library.dragoman_reorder(self._network, len(sources), *addresses, length)

    def move(self, moves: Compaction) -> None:
        """Do nothing: `FixedSlotAllocator` needs no compaction."""
