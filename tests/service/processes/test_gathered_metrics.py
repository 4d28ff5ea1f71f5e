"""What stays of processes that have ended, and what their ends count."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.parser import text_string_to_metric_families

from service.errors import NotReady
from service.observability.metrics import ENGINE_GAUGES, Metrics
from service.processes import gathered_metrics
from service.processes.control import Peer
from service.processes.gathered_metrics import GatheredMetrics
from service.processes.messages import FamilyFields, families_fields


@pytest.mark.parametrize(
    ("ends", "knows", "expected"),
    [
        ([("engine-0", 1)], ["a"], {"a": 1.0, "b": 1.0}),
        ([("engine-0", 1)], [], {"a": 0.0, "b": 1.0}),
        ([("engine-0", 1), ("engine-0", 1)], ["a"], {"a": 1.0, "b": 1.0}),
        ([("engine-0", 1), ("engine-0", 3), ("engine-1", 2)], ["a"], {"a": 3.0, "b": 1.0}),
        ([("front-end-0", 5), ("hub", 6)], ["a"], {"a": 0.0, "b": 0.0}),
    ],
)
async def test_each_end_of_an_engine_process_is_a_restart_of_its_models(
    ends: Sequence[tuple[str, int]], knows: Sequence[str], expected: dict[str, float]
) -> None:
    """The first engine has told that it has b in memory, and a not any more."""
    metrics = Metrics()
    metrics.of_model("a")
    metrics.of_model("b").watch_engine(lambda: dict.fromkeys(ENGINE_GAUGES, 1.0), 1)
    gathered = GatheredMetrics(["engine-0", "engine-1"], lambda: knows)
    told: list[Metric] = [*metrics.registry.collect()]
    gathered._told = {"engine-0": told, "front-end-0": told}
    for name, pid in ends:
        gathered.end(Peer(name, pid))
    gathered._told.clear()
    page = (await gathered.render({}, {"own": told if ends[0][0] != "engine-0" else []})).decode()
    families = text_string_to_metric_families(page)
    found = {
        sample.labels["model"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "dragoman_engine_restarts_total"
    }
    assert found == expected


@pytest.mark.parametrize("name", ["engine-0", "front-end-0"])
async def test_a_process_that_ends_during_a_scrape_counts_once(name: str) -> None:
    counter = Counter("asked", "", registry=CollectorRegistry())
    gathered = GatheredMetrics(["engine-0"], list)
    ends = [False, True, False]

    async def answer(*_: object) -> Sequence[FamilyFields]:
        counter.inc()
        return families_fields(counter.collect())

    async def slow(*_: object) -> Sequence[FamilyFields]:
        await asyncio.sleep(0)
        if ends.pop(0):
            gathered.end(Peer(name, 1))
        return []

    pages = [(await gathered.render({name: answer, "hub": slow}, {})).decode() for _ in ends[:]]
    totals = [page.split("\nasked_total ")[1].split()[0] for page in pages]
    assert totals == ["1.0", "1.0", "4.0"]


async def hang() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise NotReady("it has ended")


@pytest.mark.parametrize("be_silent", [hang, fail])
async def test_no_counter_falls_while_a_process_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, be_silent: Callable[[], Awaitable[None]]
) -> None:
    """Prometheus would take that for a restart, and count everything again."""
    monkeypatch.setattr(gathered_metrics, "ANSWER_SECONDS", 0.01)
    counter = Counter("asked", "", registry=CollectorRegistry())
    gathered = GatheredMetrics([], list)
    silences = [False, True, False, True]

    async def answer(*_: object) -> Sequence[FamilyFields]:
        if silences.pop(0):
            await be_silent()
        counter.inc()
        return families_fields(counter.collect())

    pages = [(await gathered.render({"hub": answer}, {})).decode() for _ in silences[:]]
    totals = [page.split("\nasked_total ")[1].split()[0] for page in pages]
    assert totals == ["1.0", "1.0", "2.0", "2.0"]
    gathered.end(Peer("hub", 1))
    assert b"\nasked_total 2.0\n" in await gathered.render({}, {})
