"""The entries as JSON: made again only when the last answer is old."""

from __future__ import annotations

import json

from service.engine.batch_loop import BatchEntry
from service.engine.engine import Engine, EngineLimits
from service.http.routes.pages import EngineView
from service.observability.metrics import Metrics
from tests.service.fakes import FakeRunner


class CountingEngine(Engine):
    """Counts how often its entries are read."""

    num_reads = 0

    def batch_entries(self, since: float) -> list[list[BatchEntry]]:
        self.num_reads += 1
        return [[]]


def test_many_who_watch_cost_one_reading_a_fifth_of_a_second() -> None:
    limits = EngineLimits(100, 10_000, 1000)
    engine = CountingEngine([FakeRunner], Metrics().of_model("fake"), limits)
    now = 100.0
    view = EngineView({"fake": engine}, clock=lambda: now)
    answers = {view.render() for _ in range(50)}
    assert (len(answers), engine.num_reads) == (1, 1)
    expected = {"now": 100_000, "models": {"fake": [[]]}, "waiting": {"fake": 0}}
    assert json.loads(answers.pop()) == expected
    now = 100.25
    assert json.loads(view.render())["now"] == 100_250
    assert engine.num_reads == 2
