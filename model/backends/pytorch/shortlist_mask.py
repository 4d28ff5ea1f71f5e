"""The shortlists of all slots as a mask of logits: the whole output layer is computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from model.backends.pytorch.transfer import Transfer
from model.network.shortlist import Shortlist


class ShortlistMask:
    """Which tokens the translations in the slots may not have (n_slots, V)."""

    def __init__(
        self, shortlist: Shortlist, n_slots: int, vocabulary: int, device: torch.device
    ) -> None:
        self._shortlist = shortlist
        self._is_left_out = torch.zeros(n_slots, vocabulary, dtype=torch.bool, device=device)

    def admit(
        self, slots: Sequence[int], sources: Sequence[Sequence[int]], transfer: Transfer
    ) -> None:
        """Make the lists of these sources those of their slots, when the transfer runs."""
        lists = [self._shortlist.of(source) for source in sources]
        table = np.empty((len(lists), max(map(len, lists))), np.int64)
        for row, tokens in zip(table, lists, strict=True):
            row[:] = tokens[0]
            row[: len(tokens)] = tokens
        transfer.add(self._set, np.array(slots, np.int64), table)

    def _set(self, slots: Tensor, tokens: Tensor) -> None:
        self._is_left_out.index_fill_(0, slots, True)
        self._is_left_out[slots[:, None], tokens] = False

    def apply(self, logits: Tensor, slots: Tensor) -> None:
        """Set the logits (R, V) of rows of these slots (R,) to -inf where they are left out."""
        logits.masked_fill_(self._is_left_out.index_select(0, slots), float("-inf"))

    def move(self, targets: Tensor, sources: Tensor) -> None:
        """Copy the lists of slots `sources` (n,) to slots `targets` (n,)."""
        self._is_left_out.index_copy_(0, targets, self._is_left_out.index_select(0, sources))
