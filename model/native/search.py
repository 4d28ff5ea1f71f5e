"""`model.search.Search` whose steps our own CPU code takes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from model.guards import LONGEST_LOOP, LOOP_SPAN
from model.hypotheses import Hypotheses
from model.native.library import address, load_library
from model.network import RowCandidates, RowTable
from model.search import Search


class _Hypotheses(ctypes.Structure):
    """`Hypotheses` of search.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("tokens", "log_probs", "score", "length"))


class _State(ctypes.Structure):
    """`SearchState` of search.h."""

    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("max_beam", "max_length", "loop_span", "longest_loop")
        ),
        ("eos", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("integers", "numbers", "flags")),
        *((name, _Hypotheses) for name in ("live", "finished")),
        *((name, ctypes.c_void_p) for name in ("last", "length", "status", "is_stuck")),
    )


class _SlotTable(ctypes.Structure):
    """`SlotTable` of search.h."""

    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_int64))


class NativeSearch(Search):
    """The same state and the same rules; only for the CPU. `advance` may be of some slots only."""

    def __init__(
        self, n_slots: int, max_beam: int, max_length: int, eos_id: int, filler_id: int
    ) -> None:
        super().__init__(n_slots, max_beam, max_length, eos_id, filler_id, torch.device("cpu"))
        library = load_library()
        if library is None:
            raise RuntimeError("model/native was not compiled")
        self._library = library
        options = (address(table) for table in self.options.tables)
        hypotheses = (_addresses(self.live), _addresses(self.finished))
        others = (self.last, self.length, self.status, self.is_stuck)
        sizes = (max_beam, max_length, LOOP_SPAN, LONGEST_LOOP, eos_id)
        self._state = _State(*sizes, *options, *hypotheses, *(address(table) for table in others))
        self.state = ctypes.byref(self._state)
        """The compiled library's view of all this."""
        tables = [_SlotTable(address(t), t.stride(0) * t.element_size()) for t in self.tables]
        self._tables = (_SlotTable * len(tables))(*tables)

    def move(self, moves: Sequence[tuple[int, int]]) -> None:
        targets, sources = (torch.tensor(places) for places in zip(*moves, strict=True))
        places = (address(targets), address(sources), len(moves))
        self._library.dragoman_move(self._tables, len(self._tables), *places)

    def advance(self, row_candidates: RowCandidates, rows: RowTable, max_length: int) -> Tensor:
        n_slots, width = rows.by_slot.shape
        log_probs, tokens, is_failed = row_candidates
        sources = torch.empty(len(rows.slots), dtype=torch.int64)
        self._library.dragoman_advance(
            self.state,
            address(rows.members),
            n_slots,
            width,
            address(rows.by_slot),
            log_probs.size(1),
            *(address(log_probs), address(tokens), address(is_failed), address(sources)),
        )
        return sources

    def stable_lengths(self, rows: RowTable, max_length: int) -> Tensor:
        lengths = torch.empty(len(rows.members), dtype=torch.int64)
        members = (address(rows.members), len(lengths))
        self._library.dragoman_stable_lengths(self.state, *members, address(lengths))
        return lengths


def _addresses(hypotheses: Hypotheses) -> _Hypotheses:
    return _Hypotheses(*(address(table) for table in hypotheses.tables))
