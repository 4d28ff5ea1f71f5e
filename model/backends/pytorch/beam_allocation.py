"""The beam divided among banks: a bank has the candidates that need as many tokens of terms as each
other (Post and Vilar 2018, section 4).

Shapes: N slots, P or C candidates, K hypotheses a slot.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.decoding.search_rules import NEEDED_TOKEN_COST

_NEVER = float("-inf")


def allot(totals: Tensor, needed: Tensor, count: int) -> Tensor:
    """Divide a beam among banks -> indices (N, count) into candidates (N, P), in order.

    First comes the best candidate of each bank, then the second best, and so on; those of the same
    rank are ordered by their sum of log-probabilities, less what the needed tokens will cost.
    Without terms this is the order of the sums.
    """
    by_total = totals.argsort(dim=1, descending=True, stable=True)
    total, need = totals.gather(1, by_total), needed.gather(1, by_total)
    rank = _ranks_within(need).masked_fill(total == _NEVER, totals.size(1))
    prospect = total - NEEDED_TOKEN_COST * need
    by_prospect = prospect.argsort(dim=1, descending=True, stable=True)
    by_rank = rank.gather(1, by_prospect).argsort(dim=1, stable=True)[:, :count]
    return by_total.gather(1, by_prospect.gather(1, by_rank))


def survivors(totals: Tensor, is_in_beam: Tensor) -> tuple[Tensor, Tensor]:
    """The first candidates (N, C) that do not end, as many as the beam is wide (N, K), best first
    -> their totals and indices (N, K). `totals` of those that end are -inf."""
    width = is_in_beam.size(1)
    chosen = (totals == _NEVER).long().argsort(dim=1, stable=True)[:, :width]
    total = totals.gather(1, chosen).where(is_in_beam, _NEVER)
    total, order = total.sort(dim=1, descending=True, stable=True)
    return total, chosen.gather(1, order)


def _ranks_within(banks: Tensor) -> Tensor:
    """How many earlier entries of a row have the same bank (N, P)."""
    by_bank = banks.argsort(dim=1, stable=True)
    ordered = banks.gather(1, by_bank)
    place = torch.arange(banks.size(1), device=banks.device).expand_as(banks)
    is_new = torch.ones_like(ordered, dtype=torch.bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = torch.where(is_new, place, 0).cummax(1).values
    return torch.zeros_like(banks).scatter(1, by_bank, place - first)
