"""The options of the sentences in the slots, as tensors that a step can index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.sentence import SourceSentence
from model.transfer import send


class Features(NamedTuple):
    """What any running sentence uses, so that a step leaves out what none does."""

    has_sampling: bool
    has_guards: bool
    has_prefix: bool
    has_streams: bool
    max_ngram_size: int

    @property
    def needs_logits(self) -> bool:
        """Whether choosing the next token takes more than the likeliest ones."""
        return self.has_sampling or self.has_guards or self.has_prefix

    @classmethod
    def of(cls, sentences: Sequence[SourceSentence]) -> Features:
        return cls(
            has_sampling=any(s.options.sampling for s in sentences),
            has_guards=any(s.options.is_guarded for s in sentences),
            has_prefix=any(s.prefix for s in sentences),
            has_streams=any(s.is_streamed for s in sentences),
            max_ngram_size=max((s.options.no_repeat_ngram_size for s in sentences), default=0),
        )


class SlotOptions:
    """The options of each slot: columns (n_slots,) of three tables, which `model.native` reads."""

    def __init__(self, n_slots: int, device: torch.device) -> None:
        self.integers = torch.zeros(n_slots, 8, dtype=torch.int64, device=device)
        self.numbers = torch.zeros(n_slots, 4, device=device)
        self.flags = torch.zeros(n_slots, 2, dtype=torch.bool, device=device)
        integers, numbers = self.integers.unbind(1), self.numbers.unbind(1)
        self.beam_size, self.n_best, self.limit, self.lookahead = integers[:4]
        self.top_k, self.seed, self.ngram_size, self.prefix_length = integers[4:]
        self.length_penalty, self.temperature, self.top_p, self.repetition_penalty = numbers
        self.is_sampling, self.is_wu = self.flags.unbind(1)

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """All that is kept, one row a slot."""
        return self.integers, self.numbers, self.flags

    def set(
        self, slots: Tensor, sentences: Sequence[SourceSentence], limits: Sequence[int]
    ) -> None:
        """Write the options of the sentences that go into `slots` (B,)."""
        rows = [_rows(sentence, limit) for sentence, limit in zip(sentences, limits, strict=True)]
        for table, values in zip(self.tables, zip(*rows, strict=True), strict=True):
            table[slots] = send(values, table.device, table.dtype)


def _rows(sentence: SourceSentence, limit: int) -> tuple[list[int], list[float], list[bool]]:
    """One sentence's row of each table."""
    options = sentence.options
    lookahead = limit if options.lookahead is None else options.lookahead
    integers = [
        *(options.beam_size, options.n_best, limit, lookahead, options.top_k, options.seed),
        *(options.no_repeat_ngram_size, len(sentence.prefix)),
    ]
    numbers = [
        *(options.length_penalty, options.temperature, options.top_p),
        options.repetition_penalty,
    ]
    return integers, numbers, [options.sampling, options.normalization == "wu"]
