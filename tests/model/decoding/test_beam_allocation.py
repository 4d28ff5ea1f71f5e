"""The beam divided among banks."""

from __future__ import annotations

import torch

from model.backends.pytorch.beam_allocation import allot


def test_each_bank_gets_its_best_before_any_gets_its_second() -> None:
    totals = torch.tensor([[-1.0, -1.1, -1.2, -3.9, -9.0, float("-inf")]])
    needed = torch.tensor([[2, 2, 2, 1, 0, 0]])
    assert allot(totals, needed, 5).tolist() == [[3, 0, 4, 1, 2]]
