"""Hypotheses of all slots as tensors; candidates extend and replace them.

Shapes: N live slots, K hypotheses a slot, C candidates, L tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass
class Hypotheses:
    """Ranked hypotheses of each slot: tokens and their log_probs (n_slots, K, max_length), and
    score (n_slots, K), -inf for an empty entry."""

    tokens: Tensor
    log_probs: Tensor
    score: Tensor


@dataclass
class FinishedHypotheses(Hypotheses):
    """With their length (n_slots, K) in tokens."""

    length: Tensor


class Candidates(NamedTuple):
    """Extensions of live hypotheses, best first: parent beam, token and sum of log-probabilities,
    (N, C) each; full tokens and log_probs (N, C, L)."""

    parent: Tensor
    token: Tensor
    total: Tensor
    tokens: Tensor
    log_probs: Tensor


def extend(history: Tensor, parent: Tensor, new: Tensor, length: Tensor, max_length: int) -> Tensor:
    """Append one entry to the parents' histories: (n_slots, K, max), (N, C) -> (N, C, L).

    An ended slot may already have length L; its result is not used.
    """
    n_slots, count = parent.shape
    chosen = parent[..., None].expand(-1, -1, max_length)
    extended = history[:n_slots, :, :max_length].gather(1, chosen)
    place = length[:n_slots, None, None].clamp_max(max_length - 1).expand(-1, count, 1)
    return extended.scatter(2, place, new[..., None])


def keep(store: Tensor, candidates: Tensor, index: Tensor) -> None:
    """Set store[:N, :K, :L] to the entries that index (N, K) selects from store and candidates
    (N, C, L), concatenated along dimension 1."""
    n_slots, width = index.shape
    columns = candidates.size(2)
    both = torch.cat([store[:n_slots, :width, :columns], candidates], 1)
    store[:n_slots, :width, :columns] = both.gather(1, index[..., None].expand(-1, -1, columns))
