"""The rows of a step and their candidates as tensors: R rows of N slots, V vocabulary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.backends.pytorch.transfer import to_device
from model.decoding.decoder import BatchRows


class RowTable(NamedTuple):
    """The batch rows of a step as tensors: R rows of N slots.

    A place is an index into the R rows. by_slot (N, K): the place of each slot's k-th hypothesis;
    a slot with fewer than K repeats its first. slots and beams (R,): the slot and beam of each row.
    members (N,) and rows (R,): the slots and rows themselves; all live ones in order unless the
    network can step a subset. drawn (D,): places of the rows that sample their token.
    """

    by_slot: Tensor
    slots: Tensor
    beams: Tensor
    members: Tensor
    rows: Tensor
    drawn: Tensor

    @classmethod
    def of(cls, batch: BatchRows, device: torch.device) -> RowTable:
        """The table of a step's rows; one transfer to the device."""
        by_slot, *others = batch.columns
        columns = [by_slot.reshape(-1), *others, np.array(batch.drawn, dtype=np.int64)]
        flat = to_device(np.concatenate(columns), device)
        places, *rest = flat.split([len(column) for column in columns])
        return cls(places.view(by_slot.shape), *rest)


class RowCandidates(NamedTuple):
    """The likeliest next tokens of every row, best first: log_probs and tokens (R, C), and
    is_failed (R,): whether the row's scores are not finite."""

    log_probs: Tensor
    tokens: Tensor
    is_failed: Tensor


def likeliest(logits: Tensor, count: int, is_forbidden: Tensor | None = None) -> RowCandidates:
    """The `count` likeliest tokens of logits (R, V), except `is_forbidden` ones (R, V).

    Overwrites forbidden logits. The normaliser still includes them, so a row that puts most of its
    probability on forbidden tokens gets low scores.
    """
    normaliser = logits.logsumexp(-1, keepdim=True)
    if is_forbidden is not None:
        logits.masked_fill_(is_forbidden, float("-inf"))
    values, tokens = logits.topk(min(count, logits.size(1)))
    return RowCandidates(values - normaliser, tokens, ~normaliser.isfinite().squeeze(1))
