"""The costs of a step. Plain Python: no clock, no tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepCost:
    """An affine model: the cost of a step and that of each row. In seconds if measured; schedulers
    use only the ratio."""

    fixed: float
    per_row: float


NOMINAL = StepCost(24.0, 1.0)
"""An assumption, in rows: for a runner whose costs were not measured."""
