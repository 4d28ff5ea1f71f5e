"""The searches of all slots on the CPU: their state as arrays, which our C++ extends step by step.

`model.backends.pytorch.search` has the same state and rules in tensors.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.backends.native.library import Mirrored, address, required_library
from model.decoding.search_rules import (
    LONGEST_LOOP,
    LOOP_SPAN,
    SearchSizes,
    SearchTokens,
    Status,
    spelled_out,
)
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.slot_options import FLAGS, INTEGERS, NUMBERS, option_rows
from model.decoding.utf8 import Utf8Tables

Array = NDArray[Any]
_NEVER = float("-inf")


class _SlotIntegers(Mirrored):
    """`SlotIntegers` of search.h."""

    _fields_ = tuple((name, ctypes.c_int64) for name in INTEGERS)


class _SlotNumbers(Mirrored):
    """`SlotNumbers` of search.h."""

    _fields_ = tuple((name, ctypes.c_float) for name in NUMBERS)


class _SlotFlags(Mirrored):
    """`SlotFlags` of search.h."""

    _fields_ = tuple((name, ctypes.c_bool) for name in FLAGS)


class _Hypotheses(Mirrored):
    """`Hypotheses` of search.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("tokens", "log_probs", "score", "length"))


class _Utf8(Mirrored):
    """`Utf8` of search.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("spelled", "is_allowed", "next_state", "is_held")),
        *((name, ctypes.c_int64) for name in ("states", "tokens", "copied")),
    )


class _SearchState(Mirrored):
    """`SearchState` of search.h."""

    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("slots", "max_beam", "max_length", "loop_span", "longest_loop")
        ),
        ("eos", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("integers", "numbers", "flags")),
        *((name, _Hypotheses) for name in ("live", "finished")),
        *((name, ctypes.c_void_p) for name in ("last", "spelling", "length", "status", "is_stuck")),
        ("prefix", ctypes.c_void_p),
        ("utf8", _Utf8),
    )


class _Tables(NamedTuple):
    """Ranked hypotheses of each slot: tokens and log_probs (n_slots, K, max_length), score
    (n_slots, K), -inf for an empty entry, and length (n_slots, K)."""

    tokens: Array
    log_probs: Array
    score: Array
    length: Array

    @classmethod
    def empty(cls, sizes: SearchSizes) -> _Tables:
        shape = (sizes.n_slots, sizes.max_beam, sizes.max_length)
        return cls(
            np.zeros(shape, np.int64),
            np.zeros(shape, np.float32),
            np.full(shape[:2], _NEVER, np.float32),
            np.zeros(shape[:2], np.int64),
        )


class NativeSearch:
    """The state of every search; a step takes any subset of slots."""

    def __init__(
        self, sizes: SearchSizes, tokens: SearchTokens, utf8: Utf8Tables | None = None
    ) -> None:
        """`utf8`: None if the vocabulary has neither byte tokens nor copied ones."""
        self._library, self._eos_id, self._utf8 = required_library(), tokens.eos_id, utf8
        n_slots, copied = sizes.n_slots, tokens.copied_ids
        self.options = [
            np.zeros(n_slots, np.dtype(kind)) for kind in (_SlotIntegers, _SlotNumbers, _SlotFlags)
        ]
        self.live, self.finished = _Tables.empty(sizes), _Tables.empty(sizes)
        self.last, self._spelling = np.zeros((2, n_slots, sizes.max_beam), np.int64)
        self.length, self.status = np.zeros((2, n_slots), np.int64)
        self.is_stuck = np.zeros(n_slots, np.bool_)
        self.prefix = np.full((n_slots, sizes.max_length), tokens.filler_id)
        self._copied = list(copied)
        self._columns = {token: column for column, token in enumerate(copied.values())}
        self._is_held = np.zeros((n_slots, len(copied)), np.bool_)
        self._state = _SearchState(
            *(*dataclasses.astuple(sizes), LOOP_SPAN, LONGEST_LOOP),
            *(tokens.eos_id, *map(address, self.options)),
            *(_Hypotheses(*map(address, tables)) for tables in (self.live, self.finished)),
            *map(address, (self.last, self._spelling, self.length, self.status, self.is_stuck)),
            address(self.prefix),
            _Utf8() if utf8 is None else _mirrored(utf8, self._is_held),
        )
        self.state = ctypes.byref(self._state)
        """The `SearchState` of the compiled library, by reference."""

    def admit(
        self,
        slots: Sequence[int],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
        start: int,
    ) -> None:
        """Start searches in `slots` from the token `start`, with at most `limits` tokens each."""
        where = np.array(slots)
        rows = map(option_rows, sentences, limits)
        for table, values in zip(self.options, zip(*rows, strict=True), strict=True):
            table[where] = list(values)
        self._is_held[where] = False
        for slot, sentence in zip(slots, sentences, strict=True):
            if sentence.prefix:
                self.prefix[slot, : len(sentence.prefix)] = sentence.prefix
            if held := self._columns.keys() & sentence.ids:
                self._is_held[slot, [self._columns[token] for token in held]] = True
        self._begin(where, start)

    def _begin(self, slots: Array, start: int) -> None:
        self.live.score[slots] = self.finished.score[slots] = _NEVER
        self.live.score[slots, 0] = 0.0
        self.last[slots] = start
        self._spelling[slots] = 0
        self.length[slots] = 0
        self.status[slots] = Status.RUNNING
        self.is_stuck[slots] = False

    def ended(self, slots: Array) -> list[tuple[int, Status]]:
        """The index within `slots` (N,) and the status of each ended slot."""
        codes = self.status[slots]
        (places,) = codes.nonzero()  # not RUNNING
        return [(place, Status(int(codes[place]))) for place in places.tolist()]

    def settled(self, slots: Array, length: int) -> tuple[list[int], Array]:
        """How many tokens all hypotheses of each of `slots` (N,) share, and the tokens (N, length)
        of their best ones."""
        lengths = np.empty(len(slots), dtype=np.int64)
        arguments = (address(slots), len(slots), address(lengths))
        self._library.dragoman_stable_lengths(self.state, *arguments)
        return lengths.tolist(), self.live.tokens[slots, 0, :length]

    def results(self, slots: Sequence[int], limits: Sequence[int]) -> list[list[Hypothesis]]:
        """Each slot's finished hypotheses, best first, of at most `limits` tokens."""
        pairs = zip(slots, limits, strict=True)
        found = self.finished
        return [list(spelled_out(found, slot, limit, self._eos_id)) for slot, limit in pairs]

    def best(self, slots: Sequence[int], most: int) -> tuple[Array, Array]:
        """Each slot's best finished hypothesis: its first `most` tokens (N, most), any ids behind
        its end, and their number (N,)."""
        found = self.finished
        return found.tokens[slots, 0, :most], np.minimum(found.length[slots, 0], most)

    def forbidden(self, slot: int, width: int) -> NDArray[np.bool_] | None:
        """Which tokens (V,) may not come next in the slot's `width` hypotheses, because they would
        make invalid UTF-8 or because its source lacks them; a prefix may force them."""
        if self._utf8 is None:
            return None
        is_forbidden = self._utf8.forbidden(self._spelling[slot, :width])
        is_forbidden[:, self._copied] |= ~self._is_held[slot]
        if self.length[slot] < self.options[0]["prefix_length"][slot]:
            is_forbidden[:] = False
        return is_forbidden


def _mirrored(tables: Utf8Tables, is_held: Array) -> _Utf8:
    own = map(address, (*tables, is_held))
    return _Utf8(*own, len(tables.next_state), len(tables.spelled), is_held.shape[1])
