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
        self._steps.observe([1.0, num_rows, num_positions], seconds)
        self._update()

    def observe_encoding(self, num_tokens: int, seconds: float) -> None:
        """Add the seconds of an encoding of so many source tokens."""
        self._encodings.observe([1.0, num_tokens], seconds)
        self._update()

    def _update(self) -> None:
        if self._steps.is_fresh or self._encodings.is_fresh:
            self.current = StepCost(*self._steps.coefficients, *self._encodings.coefficients)


class _Fit:
    """A linear function of few features, fitted to recent observations and to a prior, so that
    observations of one size leave no coefficient undetermined. Errors count relative to the prior's
    prediction, so that small steps count as much as large ones."""

    def __init__(self, first: Sequence[float], sizes: Sequence[Sequence[float]]) -> None:
        """`first`: the coefficients of the prior, exact at the features `sizes`."""
        self.coefficients = list(first)
        self.is_fresh = False
        self._first = list(first)
        self._prior = np.zeros((len(first), len(first) + 1))
        for features in sizes:
            expected = _dot(first, features)
            self._prior += _equations(features, expected, expected) * (_PRIOR_WEIGHT / len(sizes))
        self._recent = np.zeros_like(self._prior)
        self._num_observed = 0

    def observe(self, features: Sequence[float], value: float) -> None:
        """Add an observation; fit again after every few."""
        most = _MOST_SURPRISE * _dot(self.coefficients, features)
        self._recent *= _MEMORY
        self._recent += _equations(features, min(value, most), _dot(self._first, features))
        self._num_observed += 1
        self.is_fresh = self._num_observed % _REFIT_EVERY == 0
        if self.is_fresh:
            equations = self._prior + self._recent
            solved = np.linalg.solve(equations[:, :-1], equations[:, -1])
            bounds = [np.array(self._first) * share for share in _SHARES]
            self.coefficients = np.clip(solved, bounds[0], bounds[1]).tolist()


def _equations(features: Sequence[float], value: float, scale: float) -> NDArray[np.float64]:
    """The normal equations (n, n + 1) of one observation, divided by the square of `scale`."""
    scaled = np.array(features) / scale
    return np.outer(scaled, np.append(scaled, value / scale))


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
