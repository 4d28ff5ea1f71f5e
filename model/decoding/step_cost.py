"""The costs of a step and an encoding. Plain Python: no clock, no tensors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepCost:
    """An affine model: costs fixed per step, per row, per position that a row attends to; fixed per
    encoding and per source token. In seconds if measured; schedulers use only the ratios."""

    fixed: float
    per_row: float
    per_position: float
    encode_fixed: float
    per_source_token: float

    def of_step(self, num_rows: int, num_positions: int) -> float:
        """`num_positions`: the lengths of the histories of all rows together."""
        return self.fixed + self.of_rows(num_rows, num_positions)

    def of_rows(self, num_rows: int, num_positions: int) -> float:
        """The cost of a step without its fixed part."""
        return self.per_row * num_rows + self.per_position * num_positions

    def of_encoding(self, num_tokens: int) -> float:
        return self.encode_fixed + self.per_source_token * num_tokens


NOMINAL = StepCost(24.0, 1.0, 0.0, 24.0, 1.0)
"""An assumption, in rows: for a runner whose costs were not measured."""
