"""The search of each slot as one record, so that few operations admit, move and read it.

    head | finished hypotheses, best first | live hypotheses | prefix

An admission writes the head. The best finished hypotheses follow it, so that one operation reads
both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.records import (
    as_records,
    field_views,
    num_words,
    record_type,
)
from model.decoding.search_rules import SearchSizes
from model.decoding.slot_options import FLAGS, INTEGERS, NUMBERS


class SlotRecords:
    """The records of all slots (n_slots, W), and their fields as views. K hypotheses, L tokens.

    head: the fields of `head_type` by name, (n_slots,) or (n_slots, n) each; live and finished:
    tokens and log_probs (n_slots, K, L) each; prefix (n_slots, L).
    """

    def __init__(self, sizes: SearchSizes, n_copied: int, device: torch.device) -> None:
        """`n_copied`: the number of copied pieces."""
        self.head_type = _head_type(sizes.max_beam, n_copied)
        self._hypothesis = record_type(
            {
                "tokens": (np.int64, (sizes.max_length,)),
                "log_probs": (np.float32, (sizes.max_length,)),
            }
        )
        forced = record_type({"prefix": (np.int64, (sizes.max_length,))})
        ranked = (sizes.max_beam, num_words(self._hypothesis))
        parts = [num_words(self.head_type), *[ranked[0] * ranked[1]] * 2, num_words(forced)]
        self._words = torch.zeros(sizes.n_slots, sum(parts), dtype=torch.int64, device=device)
        self._heads, finished, live, prefix = self._words.split(parts, 1)
        self.head = field_views(self._heads, self.head_type)
        self.finished = field_views(finished.unflatten(1, ranked), self._hypothesis)
        self.live = field_views(live.unflatten(1, ranked), self._hypothesis)
        self.prefix = field_views(prefix, forced)["prefix"]

    def write_heads(self, slots: Tensor, heads: Tensor) -> None:
        """Write heads (B, W) of `head_type` to the slots (B,)."""
        self._heads.index_copy_(0, slots, heads)

    def copy(self, targets: Tensor, sources: Tensor) -> None:
        """Copy the records of slots `sources` (n,) to slots `targets` (n,)."""
        self._words.index_copy_(0, targets, self._words.index_select(0, sources))

    def best(self, slots: Tensor, n_best: int) -> Tensor:
        """The heads of slots (B,) and their `n_best` finished hypotheses, for `read_best`."""
        most = self._heads.size(1) + n_best * num_words(self._hypothesis)
        return self._words[:, :most].index_select(0, slots)

    def read_best(self, best: NDArray[np.int64], n_best: int) -> Sequence[NDArray[np.generic]]:
        """Tokens and log_probs (B, n_best, L), scores and lengths (B, n_best), as views."""
        n_head = self._heads.size(1)
        heads = as_records(best[:, :n_head], self.head_type)
        ranked = best[:, n_head:].reshape(len(best), n_best, -1)
        found = as_records(ranked, self._hypothesis)
        scores, lengths = heads["finished_score"], heads["finished_length"]
        return found["tokens"], found["log_probs"], scores[:, :n_best], lengths[:, :n_best]


def _head_type(max_beam: int, n_copied: int) -> np.dtype[np.void]:
    """The options of a slot, the numbers of its hypotheses, and those of the search as a whole."""
    return record_type(
        {
            "integers": (np.int64, (len(INTEGERS),)),
            "numbers": (np.float32, (len(NUMBERS),)),
            "flags": (np.bool_, (len(FLAGS),)),
            "live_score": (np.float32, (max_beam,)),
            "finished_score": (np.float32, (max_beam,)),
            "finished_length": (np.int64, (max_beam,)),
            "last": (np.int64, (max_beam,)),
            "spelling": (np.int64, (max_beam,)),
            "length": np.int64,
            "status": np.int64,
            "is_stuck": np.bool_,
            "is_held": (np.bool_, (n_copied,)),
        }
    )
