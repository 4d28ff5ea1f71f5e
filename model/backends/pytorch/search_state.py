"""The state of every running search as device tensors, indexed by slot: begin, move, read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.hypotheses import Hypotheses
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.slot_options import SlotOptions, option_tables
from model.backends.pytorch.transfer import DeviceToHost, Transfer, to_device
from model.decoding.decoder import Pending, Ranked
from model.decoding.search_rules import SearchSizes, SearchTokens, spelled_out
from model.decoding.sentence import SourceSentence
from model.decoding.utf8 import Utf8Tables

_NEVER = float("-inf")


class Utf8Tensors(NamedTuple):
    """`Utf8Tables` as tensors: codes (V,), next_state (S, 257), and which tokens may not come next
    in each state, whatever the source is (S, V)."""

    codes: Tensor
    next_state: Tensor
    is_forbidden: Tensor

    @classmethod
    def of(cls, tables: Utf8Tables, device: torch.device) -> Utf8Tensors:
        is_forbidden = tables.forbidden(np.arange(len(tables.next_state)))
        numbers = (tables.codes, tables.next_state, is_forbidden)
        return cls(*(torch.from_numpy(table).to(device) for table in numbers))

    def after(self, state: Tensor, token: Tensor) -> Tensor:
        """The state after each token."""
        return self.next_state[state, self.codes[token]]


class SearchState:
    """The state of every running search."""

    def __init__(
        self,
        sizes: SearchSizes,
        tokens: SearchTokens,
        device: torch.device,
        utf8: Utf8Tables | None = None,
    ) -> None:
        """`utf8`: None if the vocabulary has neither byte tokens nor copied ones."""
        n_slots = sizes.n_slots
        self.eos_id, self.filler_id = tokens.eos_id, tokens.filler_id
        self.utf8 = None if utf8 is None else Utf8Tensors.of(utf8, device)
        self.options = SlotOptions(n_slots, device)
        self.prefix = torch.full((n_slots, sizes.max_length), self.filler_id, device=device)
        self.live = Hypotheses.empty(sizes, device)
        self.finished = Hypotheses.empty(sizes, device)
        self.last = torch.zeros(n_slots, sizes.max_beam, dtype=torch.int64, device=device)
        self.spelling = torch.zeros_like(self.last)
        self.length = torch.zeros(n_slots, dtype=torch.int64, device=device)
        self.status = torch.zeros_like(self.length)
        self.is_stuck = torch.zeros_like(self.length).bool()
        copied, sources = list(tokens.copied_ids), tokens.copied_ids.values()
        self.copied = to_device(copied, device, torch.int64)
        """The copied pieces (G,)."""
        self._columns = {token: column for column, token in enumerate(sources)}
        self.is_held = torch.zeros(n_slots, len(copied), dtype=torch.bool, device=device)
        """Whether the source of each slot holds each of them (n_slots, G)."""

    def admit(
        self,
        slots: Sequence[int],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
        start: int,
        transfer: Transfer,
    ) -> None:
        """Start searches in `slots` from the token `start`, with at most `limits` tokens each. They
        begin when the transfer runs."""
        options = option_tables(sentences, limits)
        transfer.add(lambda *sent: self._start(start, *sent), np.array(slots, np.int64), *options)
        if self._columns:
            hold = functools.partial(self.is_held.index_copy_, 0)
            transfer.add(hold, np.array(slots, np.int64), self._held(sentences))
        if any(sentence.prefix for sentence in sentences):
            prefixes = self._prefixes(sentences)
            transfer.add(self._set_prefixes, np.array(slots, np.int64), prefixes)

    def _start(self, start: int, slots: Tensor, *options: Tensor) -> None:
        self.options.set(slots, options)
        self.live.score.index_fill_(0, slots, _NEVER)
        self.live.score[:, 0].index_fill_(0, slots, 0.0)
        self.finished.score.index_fill_(0, slots, _NEVER)
        self.last.index_fill_(0, slots, start)
        self.is_stuck.index_fill_(0, slots, False)
        for counts in (self.spelling, self.length, self.status):
            counts.index_fill_(0, slots, 0)

    def _held(self, sentences: Sequence[SourceSentence]) -> NDArray[np.bool_]:
        """Which copied pieces the sources hold (B, G)."""
        is_held = np.zeros((len(sentences), self.is_held.size(1)), np.bool_)
        for row, sentence in zip(is_held, sentences, strict=True):
            row[[self._columns[token] for token in self._columns.keys() & set(sentence.ids)]] = True
        return is_held

    def _prefixes(self, sentences: Sequence[SourceSentence]) -> NDArray[np.int64]:
        """The sentences' prefixes, padded (B, P)."""
        longest = max(len(sentence.prefix) for sentence in sentences)
        prefixes = np.full((len(sentences), longest), self.filler_id, dtype=np.int64)
        for row, sentence in zip(prefixes, sentences, strict=True):
            row[: len(sentence.prefix)] = sentence.prefix
        return prefixes

    def _set_prefixes(self, slots: Tensor, prefixes: Tensor) -> None:
        self.prefix[:, : prefixes.size(1)].index_copy_(0, slots, prefixes)

    def results(self, slots: Sequence[int], limits: Sequence[int], n_best: int) -> Pending[Ranked]:
        """A snapshot of each slot's finished hypotheses, best first: at most `n_best`, of at most
        `limits` tokens."""
        found, where, length = self.finished, to_device(slots, self.length.device), max(limits)
        long = (table[:, :n_best, :length] for table in (found.tokens, found.log_probs))
        tables = (*long, found.score, found.length)

        def read(*tables: Tensor) -> Ranked:
            arrays = [table.numpy()[:, :n_best] for table in tables]
            rows = enumerate(limits)
            return [list(spelled_out(arrays, row, limit, self.eos_id)) for row, limit in rows]

        return DeviceToHost([table.index_select(0, where) for table in tables], read)

    def best(self, slots: Sequence[int], most: int) -> tuple[Tensor, Tensor]:
        """Each slot's best finished hypothesis: its first `most` tokens (N, most), any ids behind
        its end, and their number (N,)."""
        where, found = to_device(slots, self.length.device), self.finished
        return found.tokens[where, 0, :most], found.length[where, 0].clamp_max(most)

    def move(self, moves: Sequence[tuple[int, int]]) -> None:
        """For each (target, source), slot `target` takes over the search of slot `source`."""
        self.copy_slots(*to_device(moves, self.length.device).unbind(1))

    def copy_slots(self, targets: Tensor, sources: Tensor) -> None:
        """Copy the state of slots `sources` (n,) to slots `targets` (n,)."""
        for table in self.tables:
            table[targets] = table[sources]

    @property
    def tables(self) -> tuple[Tensor, ...]:
        """All state tensors; the first dimension is the slot."""
        groups = (*self.options.tables, *self.live.tables, *self.finished.tables)
        hypotheses = (self.last, self.spelling)
        slots = (self.length, self.status, self.is_stuck, self.is_held)
        return (*groups, self.prefix, *hypotheses, *slots)

    def frontier(self, rows: RowTable) -> tuple[Tensor, Tensor]:
        """The last token of each row and the position to feed it at, (R,) each."""
        return self.last[rows.slots, rows.beams], self.length[rows.slots]
