"""Measures what steps cost on this machine, before a runner serves."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence

import numpy as np

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.step_cost import StepCost
from model.runner import Runner

_BATCHES = ((1, 4), (1, 14), (6, 4), (6, 14))
"""Sentences and source tokens of each measured batch."""
_REPEATS = 2
_NUM_STEPS = 4
"""Steps of each batch. 30 give the same cost per row to a tenth."""
_LEAST_SECONDS = 1e-8
_Timing = tuple[int, float]
"""Rows of one step, and its seconds."""


def measure_step_cost(runner: Runner, options: DecodingOptions) -> StepCost:
    """Time the steps of small batches, some milliseconds each, and fit the affine model. The runner
    must be idle.

    `options`: the usual ones; their beam is narrowed to what the runner can hold.
    """
    widest = min(options.beam_size, runner.max_beam_size, runner.max_rows)
    options = dataclasses.replace(options, beam_size=widest, n_best=1, max_length=_NUM_STEPS)
    steps: list[_Timing] = []
    count = min(runner.max_slots, runner.max_rows // options.beam_size)
    for _ in range(_REPEATS):
        for num_sentences, num_tokens in _BATCHES:
            batch = [SourceSentence([1] * num_tokens, options)] * min(num_sentences, count)
            steps += _timed_steps(runner, runner.admit(batch), options.beam_size)
    return StepCost(*_fitted(steps))


def _timed_steps(runner: Runner, handles: list[int], beam_size: int) -> Iterator[_Timing]:
    """Step the sentences to their end."""
    while handles:
        num_rows = beam_size * len(handles)
        started = time.perf_counter()
        finished = runner.step().finished
        took = time.perf_counter() - started
        yield num_rows, took
        gone = {result.handle for result in finished}
        handles = [handle for handle in handles if handle not in gone]


def _fitted(timings: Sequence[_Timing]) -> list[float]:
    """Least squares of the relative errors over the quickest call of each size; no coefficient is
    below zero."""
    quickest: dict[int, float] = {}
    for num_rows, seconds in timings:
        quickest[num_rows] = min(seconds, quickest.get(num_rows, seconds))
    rows = np.array([(1 / seconds, num / seconds) for num, seconds in quickest.items()])
    solution = np.linalg.lstsq(rows, np.ones(len(rows)))[0]
    return [max(_LEAST_SECONDS, float(value)) for value in solution]
