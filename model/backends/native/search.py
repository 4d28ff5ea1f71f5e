"""`model.backends.pytorch.search.Search` with steps in our C++ for CPUs."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.native.library import Mirrored, address, required_library
from model.backends.pytorch.beam_allocation import NEEDED_TOKEN_COST
from model.backends.pytorch.hypotheses import Hypotheses, spelled_out
from model.backends.pytorch.logits_processors import LONGEST_LOOP, LOOP_SPAN
from model.backends.pytorch.search import Search
from model.backends.pytorch.search_state import Status
from model.backends.pytorch.transfer import Pending, Ready, Transfer
from model.decoding.network_interface import RowCandidates, RowTable
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.slot_options import option_rows
from model.decoding.terms import EARLY_END_COST
from model.decoding.utf8 import Utf8Tables

Array = NDArray[Any]


class _Hypotheses(Mirrored):
    """`Hypotheses` of search.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("tokens", "log_probs", "score", "length"))


class _Utf8(Mirrored):
    """`Utf8` of search.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("spelled", "is_allowed", "next_state", "is_held")),
        *((name, ctypes.c_int64) for name in ("states", "tokens", "copied")),
    )


class _TermTables(Mirrored):
    """`TermTables` of search.h."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in (
            *("tokens", "term", "change", "is_first", "is_last", "opens", "opens_at_start"),
            *("count", "length", "start", "matched", "produced"),
        )
    )


class _SearchState(Mirrored):
    """`SearchState` of search.h."""

    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("slots", "max_beam", "max_length", "loop_span", "longest_loop")
        ),
        *((name, ctypes.c_float) for name in ("needed_token_cost", "early_end_cost")),
        ("eos", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("integers", "numbers", "flags")),
        *((name, _Hypotheses) for name in ("live", "finished")),
        *((name, ctypes.c_void_p) for name in ("last", "spelling", "length", "status", "is_stuck")),
        *((name, ctypes.c_void_p) for name in ("num_terms", "prefix")),
        ("terms", _TermTables),
        ("utf8", _Utf8),
    )


class NativeSearch(Search):
    """The same state and rules, only for the CPU. `advance` takes any subset of slots.

    Small reads and writes use NumPy views of the tables, which are faster.
    """

    def __init__(
        self, sizes: SearchSizes, tokens: SearchTokens, utf8: Utf8Tables | None = None
    ) -> None:
        super().__init__(sizes, tokens, torch.device("cpu"), utf8)
        self._library = required_library()
        options = (address(table) for table in self.options.tables)
        hypotheses = (_addresses(self.live), _addresses(self.finished))
        others = (self.last, self.spelling, self.length, self.status, self.is_stuck)
        numbers = (*dataclasses.astuple(sizes), LOOP_SPAN, LONGEST_LOOP)
        costs = (NEEDED_TOKEN_COST, EARLY_END_COST)
        tables = (address(table) for table in (*others, self.terms.num_terms, self.prefix))
        terms = _TermTables(*(address(table) for table in self.terms.matching_tables))
        self._state = _SearchState(
            *(*numbers, *costs, tokens.eos_id, *options, *hypotheses, *tables, terms)
        )
        self._state.utf8 = _utf8(utf8, self.is_held)
        self.state = ctypes.byref(self._state)
        """The `SearchState` of the compiled library, by reference."""
        self._option_tables = [table.numpy() for table in self.options.tables]
        self._prefix, self._is_held = self.prefix.numpy(), self.is_held.numpy()
        self._live, self._finished = _arrays(self.live), _arrays(self.finished)
        self._last, self._spelling, self._length, self._status, self._is_stuck = (
            table.numpy() for table in others
        )

    def admit(
        self,
        slots: Sequence[int],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
        start: int,
        transfer: Transfer,
    ) -> None:
        """All but the terms begins at once."""
        self.terms.admit(slots, sentences, transfer)
        self._is_held[slots] = self._held(sentences)
        for slot, sentence, limit in zip(slots, sentences, limits, strict=True):
            rows = option_rows(sentence, limit)
            for table, row in zip(self._option_tables, rows, strict=True):
                table[slot] = row
            self._prefix[slot, : len(sentence.prefix)] = sentence.prefix
            self._begin(slot, start)

    def _begin(self, slot: int, start: int) -> None:
        self._live.score[slot] = self._finished.score[slot] = float("-inf")
        self._live.score[slot, 0] = 0.0
        self._last[slot] = start
        self._spelling[slot] = 0
        self._length[slot] = 0
        self._status[slot] = Status.RUNNING
        self._is_stuck[slot] = False

    def ended(self, slots: Array) -> list[tuple[int, Status]]:
        """The index within `slots` (N,) and the status of each ended slot."""
        codes = enumerate(self._status[slots].tolist())
        return [(place, Status(code)) for place, code in codes if code != Status.RUNNING]

    def settled(self, slots: Array, length: int) -> tuple[list[int], Array]:
        """`stable_lengths` of slots (N,), and the tokens (N, length) of their best hypotheses."""
        lengths = np.empty(len(slots), dtype=np.int64)
        arguments = (address(slots), len(slots), address(lengths))
        self._library.dragoman_stable_lengths(self.state, *arguments)
        return lengths.tolist(), self._live.tokens[slots, 0, :length]

    def results(
        self, slots: Sequence[int], limits: Sequence[int], n_best: int
    ) -> Pending[list[list[Hypothesis]]]:
        pairs = zip(slots, limits, strict=True)
        found = self._finished
        return Ready([list(spelled_out(found, slot, limit, self.eos_id)) for slot, limit in pairs])

    def advance(self, row_candidates: RowCandidates, rows: RowTable, max_length: int) -> Tensor:
        n_slots, width = rows.by_slot.shape
        log_probs, tokens, is_failed, needed = row_candidates
        sources = torch.empty(len(rows.slots), dtype=torch.int64)
        self._library.dragoman_advance(
            self.state,
            address(rows.members),
            n_slots,
            width,
            address(rows.by_slot),
            *log_probs.shape,
            *(address(log_probs), address(tokens), address(is_failed), address(needed)),
            address(sources),
        )
        return sources

    def stable_lengths(self, rows: RowTable, max_length: int) -> Tensor:
        lengths = torch.empty(len(rows.members), dtype=torch.int64)
        members = (address(rows.members), len(lengths))
        self._library.dragoman_stable_lengths(self.state, *members, address(lengths))
        return lengths


class _Arrays(NamedTuple):
    """`Hypotheses.tables` as NumPy arrays."""

    tokens: Array
    log_probs: Array
    score: Array
    length: Array


def _arrays(hypotheses: Hypotheses) -> _Arrays:
    return _Arrays(*(table.numpy() for table in hypotheses.tables))


def _utf8(tables: Utf8Tables | None, is_held: Tensor) -> _Utf8:
    if tables is None:
        return _Utf8()
    own = map(address, (tables.spelled, tables.is_allowed, tables.next_state, is_held))
    return _Utf8(*own, len(tables.next_state), len(tables.spelled), is_held.size(1))


def _addresses(hypotheses: Hypotheses) -> _Hypotheses:
    return _Hypotheses(*(address(table) for table in hypotheses.tables))
