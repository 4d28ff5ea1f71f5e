"""The options of the sentences in the slots, as tensors indexed by slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import option_rows


class SlotOptions:
    """The options of each slot: columns (n_slots,) of three tables."""

    def __init__(self, integers: Tensor, numbers: Tensor, flags: Tensor) -> None:
        """Tables (n_slots, n) with the columns of INTEGERS, NUMBERS and FLAGS."""
        columns, parts = integers.unbind(1), numbers.unbind(1)
        self.beam_size, self.n_best, self.limit, self.lookahead = columns[:4]
        self.top_k, self.seed, self.ngram_size, self.prefix_length = columns[4:]
        self.length_penalty, self.temperature, self.top_p, self.repetition_penalty = parts
        self.is_sampling, self.is_wu, self.is_cut = flags.unbind(1)


def write_options(
    heads: NDArray[np.void], sentences: Sequence[SourceSentence], limits: Sequence[int]
) -> None:
    """Write the sentences' options into the three tables of their heads (B,)."""
    pairs = zip(sentences, limits, strict=True)
    columns = zip(*(option_rows(sentence, limit) for sentence, limit in pairs), strict=True)
    heads["integers"], heads["numbers"], heads["flags"] = columns
