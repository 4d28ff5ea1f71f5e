"""Keeps the measured costs of steps and encodings current. Pure Python and NumPy: no clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.decoding.step_cost import StepCost

_MEMORY = 0.995
"""Weight of the earlier observations after each new one."""
_PRIOR_WEIGHT = 20.0
"""Number of observations that the first measurement counts for, for good."""
_MOST_SURPRISE = 2.0
"""An observation counts as at most this many times its prediction: the thread was interrupted."""
_SHARES = (0.25, 16.0)
"""Bounds of a coefficient, as shares of the first measurement."""
_REFIT_EVERY = 16
_Array = NDArray[np.float64]
_STEPS = ((1.0, 4.0, 40.0), (1.0, 64.0, 600.0), (1.0, 64.0, 3000.0))
_ENCODINGS = ((1.0, 8.0), (1.0, 100.0))


class StepCostEstimate:
    """The costs of one runner: its first measurement, corrected by each step and encoding.

    Least squares with exponential forgetting (Haykin 2002, "Adaptive Filter Theory", chapter 9).
    """

    def __init__(self, first: StepCost) -> None:
        self.current = first
        self._steps = _Fit([first.fixed, first.per_row, first.per_position], _STEPS)
        self._encodings = _Fit([first.encode_fixed, first.per_source_token], _ENCODINGS)

    def observe_step(self, num_rows: int, num_positions: int, seconds: float) -> None:
        """Add the seconds of a step; `num_positions` as for `StepCost.of_step`."""
        if self._steps.observe([1.0, num_rows, num_positions], seconds):
            self._update()

    def observe_encoding(self, num_tokens: int, seconds: float) -> None:
        """Add the seconds of an encoding of so many source tokens."""
        if self._encodings.observe([1.0, num_tokens], seconds):
            self._update()

    def _update(self) -> None:
        self.current = StepCost(*self._steps.coefficients, *self._encodings.coefficients)


class _Fit:
    """A linear function of few features, fitted to recent observations and to a prior, so that
    observations of one size leave no coefficient undetermined. Errors count relative to the prior's
    prediction, so that small steps count as much as large ones."""

    def __init__(self, first: Sequence[float], sizes: Sequence[Sequence[float]]) -> None:
        """`first`: the coefficients of the prior, exact at the features `sizes`."""
        self.coefficients = list(first)
        self._first = np.array(first)
        self._recent = np.zeros((len(first), len(first) + 1))
        self._observed: list[tuple[Sequence[float], float]] = []
        exact = np.array(sizes)
        weights = np.full(len(sizes), _PRIOR_WEIGHT / len(sizes))
        self._prior = self._equations(exact, exact @ self._first, weights)

    def observe(self, features: Sequence[float], value: float) -> bool:
        """Add an observation; fit again after every few -> whether it did. Most calls only store
        it, because one is made at each step."""
        most = _MOST_SURPRISE * _dot(self.coefficients, features)
        self._observed.append((features, min(value, most)))
        if len(self._observed) < _REFIT_EVERY:
            return False
        self._fit()
        return True

    def _fit(self) -> None:
        features, values = (np.array(column) for column in zip(*self._observed, strict=True))
        self._observed.clear()
        weights: _Array = np.power(_MEMORY, np.arange(len(values), dtype=np.float64)[::-1])
        self._recent *= _MEMORY ** len(values)
        self._recent += self._equations(features, values, weights)
        equations = self._prior + self._recent
        solved = np.linalg.solve(equations[:, :-1], equations[:, -1])
        bounds = [self._first * share for share in _SHARES]
        self.coefficients = np.clip(solved, bounds[0], bounds[1]).tolist()

    def _equations(
        self,
        features: NDArray[np.float64],
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """The normal equations (n, n + 1) of observations: features (N, n), values and weights
        (N,), each divided by the square of the first prediction."""
        scaled = features * (weights / (features @ self._first) ** 2)[:, None]
        equations: _Array = scaled.T @ np.column_stack((features, values))
        return equations


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
