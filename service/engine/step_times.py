"""Observes how long steps take, and how long sentences wait for their tokens."""

from __future__ import annotations

from collections.abc import Iterable

from service.engine.sentence_task import SentenceTask
from service.observability.metrics import ModelMetrics


class StepTimes:
    """The times of one runner's steps, as metrics. All times are monotonic seconds."""

    def __init__(self, metrics: ModelMetrics) -> None:
        self._metrics = metrics
        self._last_seconds = 0.0
        self._fresh: set[SentenceTask] = set()

    def enter(self, tasks: Iterable[SentenceTask]) -> None:
        """Add admitted tasks; their first step is still to come."""
        self._fresh.update(tasks)

    def leave(self, task: SentenceTask) -> None:
        """Remove a task that does not run any more."""
        self._fresh.discard(task)

    def observe_full_step(self, num_tasks: int, started: float, ended: float) -> None:
        """Observe a step of all tasks, where steps never leave any out. Its work does not grow with
        the tasks."""
        self._metrics.decode_step_seconds.observe(ended - started)
        if num_tasks > len(self._fresh):
            self._metrics.inter_token_seconds.observe(ended - self._last_seconds)
        self._observe_first_tokens(list(self._fresh), ended)
        self._last_seconds = ended

    def observe_step(self, tasks: Iterable[SentenceTask], started: float, ended: float) -> None:
        """Observe a step of these tasks, and the longest of their waits since their last step."""
        self._metrics.decode_step_seconds.observe(ended - started)
        earlier = [task.stepped_seconds for task in tasks if task.stepped_seconds]
        if earlier:
            self._metrics.inter_token_seconds.observe(ended - min(earlier))
        for task in tasks:
            task.stepped_seconds = ended
        self._observe_first_tokens([task for task in self._fresh if task.stepped_seconds], ended)

    def _observe_first_tokens(self, tasks: Iterable[SentenceTask], ended: float) -> None:
        for task in tasks:
            self._metrics.time_to_first_token_seconds.observe(ended - task.request.arrived_seconds)
            self._fresh.discard(task)
