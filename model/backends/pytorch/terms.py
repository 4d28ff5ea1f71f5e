"""Lexical constraints: the search must produce given terms, by dynamic beam allocation (Post and
Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural Machine
Translation").

A hypothesis needs the tokens of the terms that it has not produced yet. Candidates that need the
same number of tokens share a bank, and the beam is divided among the banks. The end of sentence is
forbidden while a term is missing, and so is every token after which the rest would not fit.

All prefixes of all terms are matched at once with the Shift-And automaton (Baeza-Yates and Gonnet
1992): one flag per token of the terms.

Shapes: S slots, K hypotheses a slot, R rows, V vocabulary, F tokens of all terms of a sentence, G
terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.rows import RowCandidates, RowTable
from model.backends.pytorch.transfer import Transfer
from model.decoding.search_rules import EARLY_END_COST, SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence
from model.decoding.terms import term_columns, term_uses

_NEVER = float("-inf")
_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8: one that has begun is completed before a term begins."""
_SPAN = 2**20
"""More than any number of needed tokens."""


class RowState(NamedTuple):
    """What the search knows of each row, (R,) each: beam size, tokens so far, limit, whether the
    next token is forced, and whether a character is incomplete."""

    beam_size: Tensor
    length: Tensor
    limit: Tensor
    is_forced: Tensor
    is_spelling: Tensor


class Terms:
    """The terms of each slot as tables, and which of them each hypothesis has produced."""

    def __init__(self, sizes: SearchSizes, tokens: SearchTokens, device: torch.device) -> None:
        self.max_tokens = 2 * sizes.max_length
        self._eos_id, self._filler_id = tokens.eos_id, tokens.filler_id
        self._is_used = False
        size, n_slots, max_beam = self.max_tokens, sizes.n_slots, sizes.max_beam

        def zeros(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._numbers = zeros(3, n_slots, size)
        self._tokens, self._term, self._change = self._numbers
        self._tokens.fill_(-1)
        self._flags = zeros(4, n_slots, size, dtype=torch.bool)
        self._is_first, self._is_last, self._opens, self._opens_at_start = self._flags
        self._uses = zeros(2, n_slots, sizes.max_length)
        self._count, self._length = self._uses
        self._start, self.num_terms = zeros(n_slots), zeros(n_slots)
        self._matched = zeros(n_slots, max_beam, size, dtype=torch.bool)
        self._produced = zeros(n_slots, max_beam, sizes.max_length)

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """All state tensors, the first dimension is the slot; none before the first terms."""
        if not self._is_used:
            return ()
        return (*self.matching_tables, self.num_terms)

    @property
    def matching_tables(self) -> tuple[Tensor, ...]:
        """All but the number of terms."""
        return (
            *(*self._term_tables, self._count, self._length, self._start),
            *(self._matched, self._produced),
        )

    def admit(
        self, slots: Sequence[int], sentences: Sequence[SourceSentence], transfer: Transfer
    ) -> None:
        """Begin the searches of slots when the transfer runs. Of the terms' forms, the last that do
        not fit are left out."""
        pairs = zip(slots, sentences, strict=True)
        termed = [(slot, sentence) for slot, sentence in pairs if sentence.terms]
        self._is_used |= bool(termed)
        if not self._is_used:
            return
        transfer.add(self._forget, np.array(slots, np.int64))
        if termed:
            numbers = [(slot, len(one.prefix), len(one.terms)) for slot, one in termed]
            forms = _padded([term_columns(one.terms, self.max_tokens) for _, one in termed], -1)
            uses = _padded([term_uses(one.terms) for _, one in termed], 0)
            transfer.add(self._begin, np.array(numbers, np.int64).T, forms, uses)

    def _forget(self, slots: Tensor) -> None:
        self._count.index_fill_(0, slots, 0)
        self.num_terms.index_fill_(0, slots, 0)

    def _begin(self, numbers: Tensor, forms: Tensor, uses: Tensor) -> None:
        """Write the terms of B slots. numbers (3, B): slot, tokens of the prefix, terms; forms
        (7, B, F): `term_columns`; uses (2, B, G): `term_uses`."""
        slots, starts, counts = numbers
        self._tokens.index_fill_(0, slots, -1)
        self._numbers[1:].index_fill_(1, slots, 0)
        self._flags.index_fill_(1, slots, False)
        halves = (self._numbers, forms[:3]), (self._flags, forms[3:].bool()), (self._uses, uses)
        for table, values in halves:
            table[..., : values.size(2)].index_copy_(1, slots, values)
        self._start.index_copy_(0, slots, starts)
        self.num_terms.index_copy_(0, slots, counts)
        self._produced.index_fill_(0, slots, 0)
        is_first = self._is_first.index_select(0, slots)[:, None]
        self._matched.index_copy_(0, slots, is_first.expand(-1, self._matched.size(1), -1))

    def candidates(
        self,
        raw: Tensor,
        logits: Tensor,
        forbidden: Tensor | None,
        count: int,
        rows: RowTable,
        state: RowState,
        width: int,
    ) -> RowCandidates:
        """Of each row the `count` likeliest tokens without those that begin or continue a term, and
        as many of the latter. Overwrites logits (R, V) that are not allowed.

        `raw`: the logits before repetition guards, which do not apply to terms; `forbidden`: tokens
        that may not come next unless a term has them (R, V); `width`: the most tokens of any
        sentence's terms.
        The normaliser includes what is forbidden.
        """
        entries = self._entries(rows, state, width)
        left = (state.limit - state.length - 1)[:, None]
        free = ~state.is_forced[:, None]
        normaliser, end = logits.logsumexp(-1, keepdim=True), logits[:, self._eos_id].clone()
        offers, needed = self._offers(entries)
        scores = raw.gather(1, offers)
        own = _likeliest(scores.where((needed <= left) & free, _NEVER), offers, needed, count)
        logits.scatter_(1, offers.where(free, self._filler_id), _NEVER)
        is_missing = (entries.total > 0) & free
        logits[:, self._eos_id] = end.masked_fill(is_missing[:, 0], _NEVER)
        if forbidden is not None:
            logits.masked_fill_(forbidden, _NEVER)
        others = _others(logits, entries, left, free, state, count)
        best = torch.maximum(own.scores[:, 0], others.scores[:, 0])
        is_over = is_missing & (end >= best)[:, None]
        normaliser = normaliser + EARLY_END_COST * is_over
        halves = [half.of_beam(state.beam_size) for half in (others, own)]
        scores, tokens, needed = (torch.cat(pair, 1) for pair in zip(*halves, strict=True))
        is_failed = ~normaliser.isfinite().squeeze(1)
        return RowCandidates(scores - normaliser, tokens, is_failed, needed)

    def follow(self, sources: Tensor, last: Tensor, rows: RowTable, width: int) -> None:
        """Take over the states of the hypotheses that the rows continue, `sources` (R,), and match
        their last tokens (S, K)."""
        slots, beams = rows.slots, rows.beams
        matched, produced = self._matched[..., :width], self._produced[..., :width]
        parents = slots[sources], beams[sources]
        expected = self._tokens[:, :width][slots]
        hit = matched[parents] & (expected == last[slots, beams][:, None])
        is_last, term = self._is_last[:, :width][slots], self._term[:, :width][slots]
        produced[slots, beams] = produced[parents].scatter_add(1, term, (hit & is_last).long())
        shifted = torch.nn.functional.pad((hit & ~is_last)[:, :-1], (1, 0))
        matched[slots, beams] = self._is_first[:, :width][slots] | shifted

    @property
    def _term_tables(self) -> tuple[Tensor, ...]:
        """Columns (S, F) in the order of `term_columns`."""
        return (
            *(self._tokens, self._term, self._change, self._is_first, self._is_last),
            *(self._opens, self._opens_at_start),
        )

    def _entries(self, rows: RowTable, state: RowState, width: int) -> _Entries:
        slots = rows.slots
        produced = self._produced[..., :width][slots, rows.beams]
        missing = (self._count[:, :width][slots] - produced).clamp_min(0)
        total = (missing * self._length[:, :width][slots]).sum(1, keepdim=True)
        is_start = (state.length == self._start[slots])[:, None]
        may_open = self._opens[:, :width][slots] | (
            self._opens_at_start[:, :width][slots] & is_start
        )
        is_wanted = missing.gather(1, self._term[:, :width][slots]) > 0
        is_next = self._matched[..., :width][slots, rows.beams] & is_wanted
        may_open &= ~state.is_spelling[:, None]
        is_offered = is_next & (may_open | ~self._is_first[:, :width][slots])
        needed = torch.minimum(total + self._change[:, :width][slots], total)
        return _Entries(self._tokens[:, :width][slots], needed, is_next, is_offered, total)

    def _offers(self, entries: _Entries) -> tuple[Tensor, Tensor]:
        """The tokens that begin or continue a term, each once, and how many are needed after it
        (R, F); the filler, which is never likely, in the other places."""
        key = entries.tokens * _SPAN + entries.needed
        key = key.where(entries.is_offered, torch.iinfo(torch.int64).max).sort(dim=1).values
        tokens, needed = key // _SPAN, key % _SPAN
        is_own = key < torch.iinfo(torch.int64).max
        is_own[:, 1:] &= tokens[:, 1:] != tokens[:, :-1]
        return tokens.where(is_own, self._filler_id), needed.where(is_own, 0)


class _Entries(NamedTuple):
    """The tokens of each row's terms (R, F): the tokens needed after each, whether it is the next
    of a missing term, and whether to offer it; and the tokens needed now (R, 1)."""

    tokens: Tensor
    needed: Tensor
    is_next: Tensor
    is_offered: Tensor
    total: Tensor


class _Half(NamedTuple):
    """Likely tokens, best first, with their logits, and how many are needed after each (R, C)."""

    scores: Tensor
    tokens: Tensor
    needed: Tensor

    def of_beam(self, beam_size: Tensor) -> _Half:
        """Without those that only a wider neighbour of the row looks at."""
        place = torch.arange(self.tokens.size(1), device=beam_size.device)
        return self._replace(scores=self.scores.where(place < 2 * beam_size[:, None], _NEVER))


def _likeliest(scores: Tensor, tokens: Tensor, needed: Tensor, count: int) -> _Half:
    scores, index = scores.topk(min(count, scores.size(1)))
    return _Half(scores, tokens.gather(1, index), needed.gather(1, index))


def _others(
    logits: Tensor, entries: _Entries, left: Tensor, free: Tensor, state: RowState, count: int
) -> _Half:
    """The likeliest other tokens, but those after which the terms would not fit."""
    scores, tokens = logits.topk(min(count, logits.size(1)))
    is_next = (tokens[:, :, None] == entries.tokens[:, None]) & entries.is_next[:, None]
    needed = torch.where(is_next, entries.needed[:, None], entries.total[:, None]).amin(2)
    slack = torch.where(state.is_spelling[:, None], 0, _LONGEST_CHARACTER - 1)
    is_impossible = (entries.total > 0) & (needed + slack > left) & free
    return _Half(scores.masked_fill(is_impossible, _NEVER), tokens, needed)


def _padded(tables: Sequence[list[list[int]]], first: int) -> NDArray[np.int64]:
    """B tables of C columns of any lengths -> (C, B, longest), padded with 0 and the first column
    with `first`."""
    longest = max(len(table[0]) for table in tables)
    padded = np.zeros((len(tables[0]), len(tables), longest), np.int64)
    padded[0] = first
    for place, table in enumerate(tables):
        padded[:, place, : len(table[0])] = table
    return padded
