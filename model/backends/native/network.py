"""The network in our C++ for CPUs: it encodes whole sentences, then takes cached steps.

Keys and values never move between rows: a hypothesis that continues another one copies only the
list that maps each position to its row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.backends.cores import num_cores
from model.backends.native.library import Mirrored, address, free_with, required_library
from model.backends.native.packed import PackedModel
from model.decoding.decoder import Capacity, WholeHypotheses
from model.decoding.slot_allocator import BatchView
from model.network.config import AttentionHead

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
_BATCH_TOKENS = 1024


class _Room(Mirrored):
    """`Room` of network.h."""

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
        self.num_rows = len(self._rows)
        sizes = (len(self.slots), len(self._rows))
        self._table = _StepTable(*sizes, address(self.slots), address(self._rows))
        self.table = ctypes.byref(self._table)


class _DecodeRecord(Mirrored):
    """`DecodeRecord` of decode.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("log_probs", "tokens", "sources"))


class DecodeRecord:
    """The candidates of a step of R rows, log_probs and tokens (R, C), and sources (R,), the row
    that each row then continues."""

    def __init__(self, num_rows: int, num_offered: int) -> None:
        self.log_probs = np.empty((num_rows, num_offered), np.float32)
        self.tokens = np.empty((num_rows, num_offered), np.int64)
        self.sources = np.empty(num_rows, np.int64)
        arrays: list[NDArray[Any]] = [self.log_probs, self.tokens, self.sources]
        self.pointers = _DecodeRecord(*map(address, arrays))


class NativeNetwork:
    """Computes with the weights of a packed model; owns the caches of keys and values."""

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
        self._stepped_rows = 0
        self._num_cores, self._num_threads = num_cores(), 1
        self.share_cores(1)

    def share_cores(self, sharers: int) -> None:
        """Use 1 / `sharers` of the cores."""
        self.use_threads(max(1, self._num_cores // sharers))

    def use_threads(self, num_threads: int) -> None:
        """Set the number of threads."""
        if num_threads != self._num_threads:
            self._library.dragoman_use_threads(self._network, num_threads)
            self._num_threads = num_threads

    def encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        """Encode sources and keep the decoder's memory in their slots, in
        batches that fit the compiled network's buffers, without padding."""
        start, num_tokens = 0, 0
        for end, source in enumerate(sources):
            if num_tokens + len(source) > self._batch_tokens:
                self._encode(slots[start:end], sources[start:end])
                start, num_tokens = end, 0
            num_tokens += len(source)
        self._encode(slots[start:], sources[start:])

    def _encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        ids = np.array(list(chain.from_iterable(sources)), dtype=np.int64)
        lengths = np.array([len(source) for source in sources], dtype=np.int32)
        where = np.array(slots, dtype=np.int32)
        arguments = (address(ids), address(lengths), address(where), None)
        self._library.dragoman_encode(self._network, len(sources), *arguments)
        if shortlist := self._packed.shortlist:
            self.shorten(where, [shortlist.of(source) for source in sources])

    def shorten(self, slots: NDArray[np.int32], lists: Sequence[NDArray[np.int32]]) -> None:
        """Translate the sentences in these slots to the tokens of their lists only."""
        lengths = np.array([len(tokens) for tokens in lists], np.int32)
        arrays = (np.concatenate(lists), lengths, slots)
        self._library.dragoman_shorten(self._network, len(lists), *map(address, arrays))

    def decode(
        self, search: object, view: CompiledPart, length: int, record: DecodeRecord | None = None
    ) -> int:
        """Run a whole step, including the searches of `NativeSearch.state` -> the number that
        ended. A `record` gets what the step offered and chose."""
        self._stepped_rows = view.num_rows
        return self._library.dragoman_decode(
            *(self._network, search, view.table, self.num_offered(view), length),
            None if record is None else ctypes.byref(record.pointers),
        )

    def num_offered(self, view: CompiledPart) -> int:
        """The likeliest tokens that a step looks at in each row."""
        return min(2 * view.width, self._config.tgt_vocab_size)

    def logits(self) -> NDArray[np.float32]:
        """The last step's logits (R, V) before any option, control ids at -inf."""
        logits = np.empty((self._stepped_rows, self._config.tgt_vocab_size), np.float32)
        self._library.dragoman_logits(self._network, address(logits))
        return logits

    def attention(self, hypotheses: WholeHypotheses[Ids], heads: Sequence[AttentionHead]) -> Floats:
        """The mean attention of `heads` to the memory when each token of the hypotheses is
        predicted -> (N, T, S), in batches that fit the compiled network's buffers, without
        padding."""
        lengths = hypotheses.lengths.tolist()
        found = np.zeros((*hypotheses.tokens.shape, hypotheses.longest_source), np.float32)
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
        hypotheses: WholeHypotheses[Ids],
        lengths: Sequence[int],
        heads: Sequence[AttentionHead],
        found: Floats,
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
            np.insert(hypotheses.tokens[place, : count - 1], 0, self._config.bos_id)
            for place, count in zip(places, counts, strict=True)
            if count
        ]
        numbers = np.array([layer * self._config.n_heads + head for layer, head in heads], np.int32)
        values = np.zeros((len(rows), hypotheses.longest_source), np.float32)
        order = np.arange(len(rows), dtype=np.int32)
        arrays = (np.concatenate(tokens), np.concatenate(positions), rows, slots, order)
        self._library.dragoman_attention(
            self._network,
            len(rows),
            *map(address, arrays),
            len(numbers),
            address(numbers),
            address(values),
            values.shape[1],
        )
        for place, part in zip(places, np.split(values, counts.cumsum()[:-1]), strict=True):
            found[place, : len(part)] = part
