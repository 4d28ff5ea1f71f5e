"""Beam search, greedy search and sampling for all running sentences at once, as device tensors.

Shapes: N live slots (sentences), K hypotheses a slot (the widest live beam), C candidates,
R live rows, L tokens of the longest live hypothesis, V vocabulary.
A greedy or sampled sentence is a beam of one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.backends.pytorch.hypotheses import Candidates, extend, keep
from model.backends.pytorch.logits_processors import (
    forbid_repeated_ngrams,
    force,
    is_looping,
    penalise_repetition,
)
from model.backends.pytorch.rows import RowCandidates, RowTable, likeliest
from model.backends.pytorch.sampling import gumbel_at, sample
from model.backends.pytorch.search_state import SearchState
from model.decoding.search_rules import LOOP_SPAN, Status
from model.decoding.slot_options import Features

_NEVER = float("-inf")


class Search(SearchState):
    """The operations of a step, on the state of every running search."""

    def choose(
        self, logits: Tensor, rows: RowTable, max_length: int, features: Features
    ) -> RowCandidates:
        """Apply the slots' options to logits (R, V) and pick candidates: the best or a sample.

        `max_length` is L after this step. `features` is the union over the slots; the caller knows
        it without a device sync.
        """
        logits = self.guard(logits, rows, max_length - 1, features)
        own = logits[rows.drawn] if features.has_sampling else None
        forbidden = self.forbidden(rows, features)
        candidates = likeliest(logits, 2 * rows.by_slot.size(1), forbidden)
        if own is None:
            return candidates
        return self._sample(own, logits[rows.drawn], candidates, rows)

    def advance(self, row_candidates: RowCandidates, rows: RowTable, max_length: int) -> Tensor:
        """Extend every live hypothesis by one token -> the row that each row continues (R,).

        Each row needs at least 2K candidates, or all of a smaller vocabulary. The status and the
        finished hypotheses of an ended search do not change.
        """
        n_slots, width = rows.by_slot.shape
        is_running = self.status[:n_slots] == Status.RUNNING.value
        candidates = self._slot_candidates(row_candidates, rows.by_slot, max_length)
        self.length[:n_slots] += is_running
        self._settle(candidates, width, is_running)
        parents = self._survive(candidates, width)
        status = self._is_done(n_slots, width).long() * Status.DONE.value
        if max_length >= LOOP_SPAN:
            self._notice_loops(n_slots)
        status.masked_fill_(row_candidates.is_failed[rows.by_slot].any(1), Status.FAILED.value)
        self.status[:n_slots] = status.where(is_running, self.status[:n_slots])
        return rows.by_slot.gather(1, parents)[rows.slots, rows.beams]

    def streamed(self, rows: RowTable, max_length: int) -> tuple[Tensor, Tensor]:
        """What streams may show of each slot: `stable_lengths` (N,), and the tokens of its best
        live hypothesis (N, max_length)."""
        return self.stable_lengths(rows, max_length), self.live.tokens[rows.members, 0, :max_length]

    def stable_lengths(self, rows: RowTable, max_length: int) -> Tensor:
        """Length of the common prefix of all live and finished hypotheses -> (N,)."""
        n_slots, width = rows.by_slot.shape
        reference = self.live.tokens[:n_slots, :1, :max_length]
        lengths = self.length[:n_slots]
        within = torch.arange(max_length, device=lengths.device) < lengths[:, None]
        for group in (self.live, self.finished):
            same = group.tokens[:n_slots, :width, :max_length] == reference
            absent = group.score[:n_slots, :width, None] == _NEVER
            within = within & (same | absent).all(1)
        return within.long().cumprod(-1).sum(-1)

    def forbidden(self, rows: RowTable, features: Features) -> Tensor | None:
        """Mask of tokens that would make a row's UTF-8 invalid, and of copied pieces that its
        source lacks (R, V); a prefix may force them."""
        if self.utf8 is None:
            return None
        spelling = self.spelling[rows.slots, rows.beams]
        is_forbidden = self.utf8.is_forbidden.index_select(0, spelling)
        is_forbidden[:, self.copied] |= ~self.is_held[rows.slots]
        if features.has_prefix:
            is_forbidden &= ~self._is_forced(rows)[:, None]
        return is_forbidden

    def guard(self, logits: Tensor, rows: RowTable, max_length: int, features: Features) -> Tensor:
        """Apply repetition guards and forced prefixes; max_length: L before this step."""
        length = self.length[rows.slots]
        if features.has_guards and max_length:
            history = self.live.tokens[rows.slots, rows.beams, :max_length]
            is_real = torch.arange(max_length, device=length.device) < length[:, None]
            history = history.where(is_real, self.filler_id)
            penalty = self.options.repetition_penalty[rows.slots]
            logits = penalise_repetition(logits, history, penalty)
            is_between_characters = self.spelling[rows.slots, rows.beams] == 0
            size = self.options.ngram_size[rows.slots] * is_between_characters
            logits = forbid_repeated_ngrams(
                logits, history, length, size, features.max_ngram_size, self.filler_id
            )
        if features.has_prefix:
            place = length.clamp_max(self.prefix.size(1) - 1)
            logits = force(logits, self.prefix[rows.slots, place], self._is_forced(rows))
        return logits

    def _is_forced(self, rows: RowTable) -> Tensor:
        """Mask of the rows within their prefix (R,)."""
        return self.length[rows.slots] < self.options.prefix_length[rows.slots]

    def _sample(
        self, own: Tensor, allowed: Tensor, likeliest: RowCandidates, rows: RowTable
    ) -> RowCandidates:
        """Replace the candidates of sampling rows by one draw from their `allowed` logits (D, V).

        `own` (D, V): the same logits before bytes were forbidden; they give the log-probability.
        """
        log_probs, tokens, is_failed = likeliest
        drawn = self._draw(allowed, rows.slots[rows.drawn])
        tokens[rows.drawn, 0] = drawn
        log_probs.index_fill_(0, rows.drawn, _NEVER)
        chosen = own.gather(1, drawn[:, None]).squeeze(1)
        log_probs[rows.drawn, 0] = chosen - own.logsumexp(-1)
        return RowCandidates(log_probs, tokens, is_failed)

    def _draw(self, logits: Tensor, slots: Tensor) -> Tensor:
        options = self.options
        noise = gumbel_at(options.seed[slots], self.length[slots], logits.size(1))
        settings = (options.temperature[slots], options.top_k[slots], options.top_p[slots])
        return sample(logits, *settings, noise)

    def _slot_candidates(
        self, row_candidates: RowCandidates, by_slot: Tensor, max_length: int
    ) -> Candidates:
        """The best 2K extensions of each slot's live hypotheses.

        Each of the K hypotheses has one extension by eos, so at least K others remain.
        """
        n_slots, width = by_slot.shape
        own = row_candidates.log_probs[by_slot]
        totals = (self.live.score[:n_slots, :width, None] + own).flatten(1)
        total, index = totals.topk(min(2 * width, totals.size(1)))
        parent = index // own.size(2)
        token = row_candidates.tokens[by_slot].flatten(1).gather(1, index)
        spelled = extend(self.live.tokens, parent, token, self.length, max_length)
        own_log_prob = own.flatten(1).gather(1, index)
        scored = extend(self.live.log_probs, parent, own_log_prob, self.length, max_length)
        return Candidates(parent, token, total, spelled, scored)

    def _settle(self, candidates: Candidates, width: int, is_running: Tensor) -> None:
        """Move ended hypotheses into the finished ones and keep the n_best.

        A hypothesis ends with eos if it is among the beam's best. If none has ended at the length
        limit or in a loop, the beam's best end without eos.
        """
        n_slots, count = candidates.token.shape
        length = self.length[:n_slots]
        is_best = _ranks(count, length) < self.options.beam_size[:n_slots, None]
        is_ending = is_best & (candidates.total > _NEVER) & (candidates.token == self.eos_id)
        has_ended = is_ending.any(1) | (self.finished.score[:n_slots, 0] > _NEVER)
        is_over = (length >= self.options.limit[:n_slots]) | self.is_stuck[:n_slots]
        is_cut = is_over & (~has_ended | self.options.is_cut[:n_slots])
        is_ending |= is_best & is_cut[:, None]
        is_ending &= is_running[:, None]
        score = candidates.total / self._penalty(n_slots, length)[:, None]
        score = score.masked_fill(~is_ending, _NEVER)

        all_scores = torch.cat([self.finished.score[:n_slots, :width], score], 1)
        best, index = all_scores.topk(width)
        is_kept = _ranks(width, length) < self.options.n_best[:n_slots, None]
        self.finished.score[:n_slots, :width] = best.where(is_kept, _NEVER)
        old_lengths = self.finished.length[:n_slots, :width]
        lengths = torch.cat([old_lengths, length[:, None].expand(-1, count)], 1)
        self.finished.length[:n_slots, :width] = lengths.gather(1, index)
        keep(self.finished.tokens, candidates.tokens, index)
        keep(self.finished.log_probs, candidates.log_probs, index)

    def _survive(self, candidates: Candidates, width: int) -> Tensor:
        """Make the best candidates without eos the live hypotheses -> parents (N, K)."""
        n_slots = candidates.token.size(0)
        length = self.length[:n_slots]
        open_totals = candidates.total.masked_fill(candidates.token == self.eos_id, _NEVER)
        is_in_beam = _ranks(width, length) < self.options.beam_size[:n_slots, None]
        total, index = open_totals.topk(width)
        self.live.score[:n_slots, :width] = total.where(is_in_beam, _NEVER)
        parents, last = candidates.parent.gather(1, index), candidates.token.gather(1, index)
        self.last[:n_slots, :width] = last
        if self.utf8 is not None:
            spelling = self.spelling[:n_slots, :width].gather(1, parents)
            self.spelling[:n_slots, :width] = self.utf8.after(spelling, last)
        columns = candidates.tokens.size(2)
        chosen = index[..., None].expand(-1, -1, columns)
        self.live.tokens[:n_slots, :width, :columns] = candidates.tokens.gather(1, chosen)
        self.live.log_probs[:n_slots, :width, :columns] = candidates.log_probs.gather(1, chosen)
        return parents

    def _is_done(self, n_slots: int, width: int) -> Tensor:
        """A slot is done when no live hypothesis can still enter its n_best -> (N,).

        Log-probabilities only fall and the penalty only grows with length. So the score of a live
        hypothesis is at most its log-probability over the penalty at length + lookahead, capped at
        the limit. A beam of one is greedy and stops at its first eos.
        """
        options, length = self.options, self.length[:n_slots]
        last = options.n_best[:n_slots, None].clamp(1, width) - 1
        worst = self.finished.score[:n_slots, :width].gather(1, last)
        needed = torch.minimum(length + options.lookahead[:n_slots], options.limit[:n_slots])
        bound = self.live.score[:n_slots, 0] / self._penalty(n_slots, needed)
        is_greedy = options.beam_size[:n_slots] == 1
        has_ended = self.finished.score[:n_slots, 0] > _NEVER
        is_done = (worst.squeeze(1) >= bound) | (is_greedy & has_ended)
        return is_done | (length >= options.limit[:n_slots]) | self.is_stuck[:n_slots]

    def _notice_loops(self, n_slots: int) -> None:
        """Mark slots whose best live hypothesis is in a loop; the next step is their last. Tokens
        of the requested prefix do not count."""
        lengths = self.length[:n_slots, None]
        places = lengths - LOOP_SPAN + _ranks(LOOP_SPAN, lengths)
        tail = self.live.tokens[:n_slots, 0].gather(1, places.clamp_min(0))
        num_chosen = lengths[:, 0] - self.options.prefix_length[:n_slots]
        self.is_stuck[:n_slots] = is_looping(tail) & (num_chosen >= LOOP_SPAN)

    def _penalty(self, n_slots: int, length: Tensor) -> Tensor:
        """The divisor of log-probabilities (N,): ((5 + |Y|) / 6)^alpha (Wu et al. 2016, eq. 14) or
        |Y|^alpha."""
        base = torch.where(self.options.is_wu[:n_slots], (5.0 + length) / 6.0, length.float())
        return base ** self.options.length_penalty[:n_slots]


def _ranks(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, device=like.device)
