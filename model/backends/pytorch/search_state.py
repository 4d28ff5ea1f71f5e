"""The state of every running search as device tensors, indexed by slot: begin, move, read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.hypotheses import FinishedHypotheses, Hypotheses
from model.backends.pytorch.records import as_words
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.slot_options import SlotOptions, write_options
from model.backends.pytorch.slot_records import SlotRecords
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
        self.eos_id, self.filler_id = tokens.eos_id, tokens.filler_id
        self.utf8 = None if utf8 is None else Utf8Tensors.of(utf8, device)
        copied, sources = list(tokens.copied_ids), tokens.copied_ids.values()
        self.copied = to_device(copied, device, torch.int64)
        """The copied pieces (G,)."""
        self._columns = {token: column for column, token in enumerate(sources)}
        self._records = records = SlotRecords(sizes, len(copied), device)
        head = records.head
        self.options = SlotOptions(head["integers"], head["numbers"], head["flags"])
        self.live = Hypotheses(**records.live, score=head["live_score"])
        self.finished = FinishedHypotheses(
            **records.finished, score=head["finished_score"], length=head["finished_length"]
        )
        self.prefix = records.prefix.fill_(self.filler_id)
        self.last, self.spelling = head["last"], head["spelling"]
        self.length, self.status, self.is_stuck = head["length"], head["status"], head["is_stuck"]
        self.is_held = head["is_held"]
        """Whether the source of each slot holds each of the copied pieces (n_slots, G)."""
        for hypotheses in (self.live, self.finished):
            hypotheses.score.fill_(_NEVER)

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
        where = np.array(slots, np.int64)
        heads = self._heads(sentences, limits, start)
        transfer.add(self._records.write_heads, where, as_words(heads))
        if any(sentence.prefix for sentence in sentences):
            transfer.add(self._set_prefixes, where, self._prefixes(sentences))

    def _heads(
        self, sentences: Sequence[SourceSentence], limits: Sequence[int], start: int
    ) -> NDArray[np.void]:
        """The heads of searches that begin (B,): what is not set is 0."""
        heads = np.zeros(len(sentences), self._records.head_type)
        write_options(heads, sentences, limits)
        heads["live_score"][:, 1:] = heads["finished_score"] = _NEVER
        heads["last"] = start
        if self._columns:
            self._note_held(heads["is_held"], sentences)
        return heads

    def _note_held(self, is_held: NDArray[np.bool_], sentences: Sequence[SourceSentence]) -> None:
        """Set which copied pieces the sources hold (B, G)."""
        for row, sentence in zip(is_held, sentences, strict=True):
            if held := [self._columns[token] for token in sentence.ids if token in self._columns]:
                row[held] = True

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

        def read(best: Tensor) -> Ranked:
            tables = self._records.read_best(best.numpy(), n_best)
            rows = enumerate(limits)
            return [list(spelled_out(tables, row, limit, self.eos_id)) for row, limit in rows]

        where = to_device(slots, self.length.device)
        return DeviceToHost([self._records.best(where, n_best)], read)

    def best(self, slots: Sequence[int], most: int) -> tuple[Tensor, Tensor]:
        """Each slot's best finished hypothesis: its first `most` tokens (N, most), any ids behind
        its end, and their number (N,)."""
        where, found = to_device(slots, self.length.device), self.finished
        return found.tokens[where, 0, :most], found.length[where, 0].clamp_max(most)

    def copy_slots(self, targets: Tensor, sources: Tensor) -> None:
        """Slots `targets` (n,) take over the searches of slots `sources` (n,)."""
        self._records.copy(targets, sources)

    def frontier(self, rows: RowTable) -> tuple[Tensor, Tensor]:
        """The last token of each row and the position to feed it at, (R,) each."""
        return self.last[rows.slots, rows.beams], self.length[rows.slots]
