"""The search with fused kernels, where they can do what a step needs."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from model.backends.fused.advance import advance
from model.backends.fused.ranking import Limits, ranked
from model.backends.fused.settled import settled_tokens
from model.decoding.logits_processors import LOOP_SPAN
from model.decoding.network_interface import RowCandidates, RowTable
from model.decoding.search import Search
from model.decoding.slot_options import Features

_COLUMNS = 32


class RankingSearch(Search):
    """Picks the likeliest tokens by `ranking`, unless a sentence samples, has repetition guards or
    terms."""

    ranks_all = True

    def choose(
        self, logits: Tensor, rows: RowTable, max_length: int, features: Features
    ) -> RowCandidates:
        if features.needs_all_logits:
            return super().choose(logits, rows, max_length, features)
        is_forbidden = None if self.utf8 is None else self.utf8.is_forbidden
        tables = (self.prefix, self.length, self.options.integers, self.spelling)
        limits = Limits(*tables, is_forbidden)
        count = 2 * rows.by_slot.size(1)
        return ranked(logits, count, rows, limits, has_prefix=features.has_prefix)


class AdvancingSearch(Search):
    """Extends hypotheses by `advance`, unless a sentence has terms, and streams by `settled`."""

    def advance(self, row_candidates: RowCandidates, rows: RowTable, max_length: int) -> Tensor:
        if row_candidates.needed is not None:
            return super().advance(row_candidates, rows, max_length)
        n_slots, width = rows.by_slot.shape
        n_own = row_candidates.tokens.size(1)
        count = min(2 * width, width * n_own)
        sources = torch.zeros_like(rows.slots)
        utf8 = (self.last, self.last) if self.utf8 is None else self.utf8[::2]
        advance[(n_slots,)](
            *row_candidates[:3],
            *(rows.by_slot, rows.slots, rows.beams, sources),
            *self.options.tables,
            *(self.live.tokens, self.live.log_probs, self.live.score),
            *self.finished.tables,
            *(self.last, self.spelling, self.length, self.status, self.is_stuck),
            *utf8,
            *(self.live.tokens.size(1), self.live.tokens.size(2), max_length),
            n_own=n_own,
            eos_id=self.eos_id,
            WIDTH=width,
            COUNT=count,
            BEAMS=triton.next_power_of_2(width),
            CANDIDATES=triton.next_power_of_2(count),
            OWN=triton.next_power_of_2(n_own),
            COLUMNS=_COLUMNS,
            HAS_UTF8=self.utf8 is not None,
            NOTICES_LOOPS=max_length >= LOOP_SPAN,
        )
        return sources

    def streamed(self, rows: RowTable, max_length: int) -> tuple[Tensor, Tensor]:
        sizes = (*rows.by_slot.shape, max_length)
        return settled_tokens(self.live, self.finished, self.length, *sizes)


class FusedSearch(RankingSearch, AdvancingSearch):
    """Both."""
