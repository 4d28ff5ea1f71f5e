"""The options of the sentences in the slots, as tensors indexed by slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import FLAGS, INTEGERS, NUMBERS, option_rows

_DTYPES = (np.int64, np.float32, np.bool_)
"""Of the tables of `SlotOptions`."""


class SlotOptions:
    """The options of each slot: columns (n_slots,) of three tables."""

    def __init__(self, n_slots: int, device: torch.device) -> None:
        self.integers = torch.zeros(n_slots, len(INTEGERS), dtype=torch.int64, device=device)
        self.numbers = torch.zeros(n_slots, len(NUMBERS), device=device)
        self.flags = torch.zeros(n_slots, len(FLAGS), dtype=torch.bool, device=device)
        integers, numbers = self.integers.unbind(1), self.numbers.unbind(1)
        self.beam_size, self.n_best, self.limit, self.lookahead = integers[:4]
        self.top_k, self.seed, self.ngram_size, self.prefix_length = integers[4:]
        self.length_penalty, self.temperature, self.top_p, self.repetition_penalty = numbers
        self.is_sampling, self.is_wu, self.is_cut = self.flags.unbind(1)

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three tables, one row per slot."""
        return self.integers, self.numbers, self.flags

    def set(self, slots: Tensor, values: Sequence[Tensor]) -> None:
        """Write `option_tables` into the rows `slots` (B,)."""
        for table, rows in zip(self.tables, values, strict=True):
            table.index_copy_(0, slots, rows)


def option_tables(
    sentences: Sequence[SourceSentence], limits: Sequence[int]
) -> list[NDArray[np.generic]]:
    """The sentences' rows of the tables of `SlotOptions`."""
    pairs = zip(sentences, limits, strict=True)
    columns = zip(*(option_rows(sentence, limit) for sentence, limit in pairs), strict=True)
    return [np.array(values, dtype) for values, dtype in zip(columns, _DTYPES, strict=True)]
