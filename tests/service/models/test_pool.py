"""The laws of models on demand: no request is lost, and the memory stays within its bound."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import logging
import random
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import pytest

from model.checkpoint import CheckpointError
from service.engine.engine import Engine, EngineLimits
from service.engine.pooled_engine import PooledEngine
from service.engine.ticket import NO_TICKET, Ticket
from service.errors import (
    DeadlineExceeded,
    Draining,
    Loading,
    NotReady,
    Overloaded,
    ServiceError,
)
from service.models.pool import ModelPool
from service.models.pooled import Loadable, PooledModel
from service.observability.metrics import LoadMetrics, Metrics
from service.translation.leases import ModelChanged
from tests.service.fakes import FakeRunner, eventually, sentence, texts_of
from tests.service.models.far_engines import FarEngines, far_engines

SEED = 3
REQUESTS = 4_000
Load = Callable[[], None]


@dataclass
class Served:
    """A model in memory, of a version."""

    engine: PooledEngine
    runner: FakeRunner
    version: str


@dataclass
class Store:
    """Models that are counted while they load. `gate` closed holds loading; the models in `broken`
    cannot be loaded."""

    pool: ModelPool[Served]
    far: FarEngines | None = None
    """Where the models are loaded; None: in this process."""
    metrics: Metrics = field(default_factory=Metrics)
    loads: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    most_at_once: int = 0
    most_bytes: int = 0
    """Reserved at the beginning of a load."""
    _num_at_once: int = 0

    def loadable(self, name: str, num_bytes: int = 1, version: str = "1") -> Loadable[Served]:
        def load() -> Served:
            self._num_at_once += 1
            self.most_at_once = max(self.most_at_once, self._num_at_once)
            self.most_bytes = max(self.most_bytes, self.pool.num_bytes)
            self.gate.wait(60)
            self._num_at_once -= 1
            self.loads.append(name)
            if name in self.broken:
                raise ValueError("the file is truncated")
            runner = FakeRunner()
            limits = EngineLimits(1000, 10**6, 1024)
            engine = Engine([lambda: runner], self.metrics.of_model(name), limits)
            return Served(engine, runner, version)

        def load_there() -> Served:
            def load_engine() -> Engine:
                made.append(load())
                engine = made[-1].engine
                assert isinstance(engine, Engine)
                return engine

            assert self.far is not None
            made: list[Served] = []
            engine = self.far.load_there(name, load_engine)
            return Served(engine, made[-1].runner, version)

        opened = load if self.far is None else load_there
        return Loadable(version, lambda: opened, num_bytes, file_bytes=1000)

    def metrics_of(self, name: str) -> LoadMetrics:
        return self.metrics.of_model(name) if self.far is None else self.metrics.of_loads(name)

    async def add(self, name: str, num_bytes: int = 1, *, is_pinned: bool = False) -> None:
        loadable = self.loadable(name, num_bytes)
        model = PooledModel(name, loadable, self.metrics_of(name), is_pinned)
        if is_pinned:
            await self.pool.load(model)
        self.pool.offer([*self.pool.models.values(), model])

    async def replace(self, name: str, version: str) -> None:
        """Offer a new version, once it is loaded."""
        new = PooledModel(name, self.loadable(name, version=version), self.metrics_of(name))
        await self.pool.load(new)
        self.pool.offer({**self.pool.models, name: new}.values())

    async def ask(self, *names: str, text: str = "ab", seconds: float | None = None) -> list[str]:
        """Translate with each of the models, as a request does -> the versions that it had."""
        async with self.pool.lease(names, Ticket.issued("", seconds)) as models:
            for model in models:
                outcomes = await model.engine.translate([sentence(text)])
                assert texts_of(outcomes) == [text.upper()]
            return [model.version for model in models]

    def count(self, metric: str, name: str) -> float:
        all_metrics = [self.metrics, *([self.far.metrics] if self.far else [])]
        values = (
            metrics.registry.get_sample_value(f"dragoman_{metric}", {"model": name})
            for metrics in all_metrics
        )
        return sum(filter(None, values))


_is_far = contextvars.ContextVar("is_far", default=False)


@pytest.fixture(params=["here", "there"], autouse=True)
def where(request: pytest.FixtureRequest) -> Iterator[None]:
    """The engines of all models: in this process, or behind connections."""
    token = _is_far.set(request.param == "there")
    yield
    _is_far.reset(token)


@contextlib.asynccontextmanager
async def store_of(num_models: int, limit: int, max_waiting: int = 10_000) -> AsyncIterator[Store]:
    """Models "0", "1", ... of one byte each."""
    async with contextlib.AsyncExitStack() as stack:
        far = await stack.enter_async_context(far_engines()) if _is_far.get() else None
        level = logging.DEBUG if far else logging.INFO
        store = Store(ModelPool(limit, max_waiting, log_level=level), far)
        stack.push_async_callback(asyncio.to_thread, store.pool.stop)
        stack.callback(store.gate.set)
        store.gate.set()
        for number in range(num_models):
            await store.add(str(number))
        store.pool.start()
        yield store


async def test_no_request_is_lost_while_models_load_and_leave_all_the_time() -> None:
    """Requests of one or two of eight models, of which three fit; some clients leave early."""
    chance = random.Random(SEED)
    async with store_of(8, limit=3) as store:

        async def request() -> str:
            names = [str(chance.randrange(8)) for _ in range(chance.choice((1, 1, 1, 2)))]
            if chance.random() < 0.1:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.001):
                        await store.ask(*names)
                return "left"
            await store.ask(*names)
            return "answered"

        done: list[str] = []
        num_requests = REQUESTS // (5 if store.far else 1)
        for _ in range(num_requests // 20):
            done += await asyncio.gather(*(request() for _ in range(20)))
        assert len(done) == num_requests
        assert done.count("answered") > 0.8 * num_requests
        assert len(store.loads) > num_requests / 20
        assert store.most_at_once == 1
        assert store.most_bytes <= 3 + 1
        assert store.pool.num_bytes <= 3
        residents = [model.resident for model in store.pool.models.values()]
        assert not any(resident and resident.num_leases for resident in residents)


async def test_the_model_that_was_idle_longest_leaves_and_pinned_ones_stay() -> None:
    async with store_of(3, limit=3) as store:
        await store.add("pinned", is_pinned=True)
        for name in ("0", "1", "0", "2"):
            await store.ask(name)
        assert set(store.pool.engines) == {"pinned", "0", "2"}
        assert store.count("model_evictions_total", "1") == 1
        assert store.count("model_bytes", "1") == 0
        await store.ask("1", "pinned")
        assert set(store.pool.engines) == {"pinned", "1", "2"}


@pytest.mark.parametrize("where", ["here"], indirect=True)
async def test_what_is_loaded_before_the_start_counts_for_the_limit() -> None:
    async with store_of(2, limit=2) as store:
        name = "pinned"
        model = PooledModel(name, store.loadable(name), store.metrics_of(name), is_pinned=True)
        store.pool.load_now(model)
        store.pool.offer([*store.pool.models.values(), model])
        for other in ("0", "1"):
            await store.ask(other)
        assert set(store.pool.engines) == {name, "1"}


async def test_a_model_in_use_does_not_leave_before_its_requests_end() -> None:
    async with store_of(2, limit=1) as store:
        await store.ask("0")
        async with store.pool.lease(["0"], NO_TICKET) as (model,):
            model.runner.gate.clear()
            running = asyncio.create_task(store.ask("0"))
            await eventually(model.runner.is_stepping.is_set)
            waiting = asyncio.create_task(store.ask("1"))
            await eventually(lambda: store.pool.models["0"].usable is None)
            again = asyncio.create_task(store.ask("0"))
            assert store.loads == ["0"]
            model.runner.gate.set()
            await running
        await asyncio.gather(waiting, again)
        assert store.loads == ["0", "1", "0"]


async def test_a_model_that_is_let_go_in_use_is_loaded_again_for_the_next() -> None:
    async with store_of(1, limit=1) as store:
        await store.ask("0")
        async with store.pool.lease(["0"], NO_TICKET):
            store.pool.let_go(store.pool.models["0"])
            waiting = asyncio.create_task(store.ask("0"))
            await eventually(lambda: bool(store.pool._waiting))
            assert store.loads == ["0"]
        assert await waiting == ["1"]
        assert store.loads == ["0", "0"]


async def test_who_waits_for_a_second_model_has_the_first_even_if_that_must_leave() -> None:
    """Else it would be loaded again and again, whenever it must leave in the load of the other."""
    async with store_of(2, limit=2) as store:
        await store.ask("0")
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("0", "1"))
        await eventually(lambda: store.most_bytes == 2)
        store.pool.let_go(store.pool.models["0"])
        store.gate.set()
        assert await waiting == ["1", "1"]
        assert store.loads == ["0", "1"]
        await eventually(lambda: set(store.pool.engines) == {"1"})


@pytest.mark.parametrize("where", ["here"], indirect=True)
async def test_while_a_model_leaves_no_other_leaves_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with store_of(4, limit=3) as store:
        for name in "013":
            await store.ask(name)
        await store.ask("1")
        engine, has_left = store.pool.engines["1"], threading.Event()
        stop = engine.stop
        monkeypatch.setattr(engine, "stop", lambda: (has_left.wait(60), stop()))
        store.pool.let_go(store.pool.models["1"])
        waiting = asyncio.create_task(store.ask("2"))
        await eventually(lambda: store.pool.num_bytes == 4)
        for _ in range(20):
            await store.ask("3")
        has_left.set()
        await waiting
        assert set(store.pool.engines) == {"0", "2", "3"}


async def test_models_may_leave_while_the_pool_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping, have_left = threading.Event(), threading.Event()

    def slow(stop: Callable[[], None]) -> Callable[[], None]:
        def stop_slowly() -> None:
            if not stopping.is_set():
                stopping.set()
                have_left.wait(60)
            stop()

        return stop_slowly

    async with store_of(2, limit=2) as store:
        for name in "01":
            await store.ask(name)
            engine = store.pool.engines[name]
            monkeypatch.setattr(engine, "stop", slow(engine.stop))
        ending = asyncio.create_task(asyncio.to_thread(store.pool.stop))
        await eventually(stopping.is_set)
        for model in store.pool.models.values():
            store.pool.let_go(model)
        await eventually(lambda: store.pool.num_bytes == 0)
        have_left.set()
        await ending


async def test_loads_and_evictions_are_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with store_of(2, limit=1) as store:
        await store.ask("0")
        await store.ask("1")
    told = {record.message.partition(":")[0] for record in caplog.records}
    loaded = {f"the model {name} is loaded" for name in "01"}
    assert told >= loaded | {"the model 0 has left the memory"}
    first = next(record.message for record in caplog.records)
    assert first.startswith("the model 0 is loaded: 0.0 s, ")


async def test_a_model_in_use_stays_at_least_as_long_as_its_load_took() -> None:
    async with store_of(2, limit=1) as store:
        store.gate.clear()
        started = time.monotonic()
        asyncio.get_running_loop().call_later(0.1, store.gate.set)
        async with store.pool.lease(["0"], NO_TICKET):
            took = store.count("model_load_seconds", "0")
            waiting = asyncio.create_task(store.ask("1"))
            await eventually(lambda: store.pool.models["0"].usable is None)
            assert time.monotonic() - started >= 2 * took > 0
        await waiting


async def test_others_are_answered_while_a_model_loads() -> None:
    async with store_of(2, limit=2) as store:
        await store.ask("0")
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("1"))
        await eventually(lambda: store.most_at_once == 1)
        for _ in range(20):
            await store.ask("0")
        assert not waiting.done()
        store.gate.set()
        await waiting


async def test_a_model_with_a_crowd_in_a_step_without_end_holds_back_no_other() -> None:
    async with store_of(2, limit=2) as store:
        await store.ask("0")
        await store.ask("1")
        resident = store.pool.models["0"].resident
        assert resident is not None
        runner = resident.loaded.runner
        runner.gate.clear()
        crowd = [asyncio.create_task(store.ask("0", text=f"a{number}")) for number in range(100)]
        await eventually(runner.is_stepping.is_set)
        assert await store.ask("1", text="cd") == ["1"]
        runner.gate.set()
        assert await asyncio.gather(*crowd) == [["1"]] * 100


async def test_a_request_that_waits_has_its_deadline_or_is_told_when_to_come_back() -> None:
    async with store_of(4, limit=4, max_waiting=2) as store:
        store.gate.clear()
        with pytest.raises(DeadlineExceeded, match="not done within the deadline of 10 ms"):
            await store.ask("0", seconds=0.01)
        waiting = [asyncio.create_task(store.ask(name)) for name in ("1", "2")]
        await asyncio.sleep(0)
        with pytest.raises(Loading, match="requests wait until models are loaded") as refused:
            await store.ask("0", "1")
        assert refused.value.retry_after_seconds == 1
        store.pool.models["1"].loadable.file_bytes = 10**12
        with pytest.raises(Loading) as refused:
            await store.ask("1")
        assert refused.value.retry_after_seconds == pytest.approx(20_000, abs=1)
        store.gate.set()
        await asyncio.gather(*waiting)
        store.pool.models["3"].loadable.file_bytes = 10**30
        assert await store.ask("3") == ["1"]  # with nobody before it, it waits as long as it takes


@pytest.mark.parametrize("where", ["here"], indirect=True)
async def test_there_is_room_while_one_model_has_some_or_is_not_in_memory() -> None:
    async with store_of(3, limit=3) as store:
        store.pool.require_room("")
        for name in ("0", "1", "2"):
            await store.ask(name)
        full = [engine.admission for engine in store.pool.engines.values()]
        for admission in full:
            store.pool.require_room("")
            admission.num_sentences, admission.max_sentences = 3, 0
        with pytest.raises(Overloaded):
            store.pool.require_room("")
        for admission in full:
            admission.num_sentences = 0


async def test_a_model_that_cannot_be_loaded_fails_its_own_requests_only() -> None:
    """A new version that cannot be loaded leaves the old one."""
    async with store_of(2, limit=2) as store:
        store.broken.add("0")
        failures = await asyncio.gather(
            store.ask("0"), store.ask("0", "1"), store.ask("1"), return_exceptions=True
        )
        assert [type(failure) for failure in failures] == [NotReady, NotReady, list]
        assert store.loads.count("0") == 1
        store.broken.add("1")
        with pytest.raises(NotReady):
            await store.replace("1", "2")
        assert await store.ask("1") == ["1"]
        assert [store.count("model_load_failures_total", name) for name in "01"] == [1, 1]


async def test_a_failure_that_is_not_foreseen_is_an_answer_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with store_of(1, limit=1) as store:
        with monkeypatch.context() as broken:
            broken.setattr(store.pool, "_reserve", lambda _: contextlib.nullcontext)
            with pytest.raises(ServiceError, match="a model could not be loaded"):
                await store.ask("0")
        assert await store.ask("0") == ["1"]


async def test_draining_refuses_those_that_wait() -> None:
    async with store_of(1, limit=1) as store:
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("0"))
        await eventually(lambda: store.most_at_once == 1)
        store.pool.refuse_new_work()
        with pytest.raises(Draining):
            await waiting
        with pytest.raises(Draining):
            await store.ask("0")


async def test_a_model_whose_load_ends_while_all_drains_takes_no_work() -> None:
    async with store_of(1, limit=1) as store:
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("0"))
        await eventually(lambda: store.most_at_once == 1)
        store.pool.refuse_new_work()
        store.gate.set()
        with pytest.raises(Draining):
            await waiting
        await eventually(lambda: bool(store.pool.engines))
        (engine,) = store.pool.engines.values()
        with pytest.raises(Draining):
            engine.require_ready()


async def test_a_new_version_takes_new_requests_and_the_old_one_ends_its_own() -> None:
    async with store_of(1, limit=1) as store:
        assert await store.ask("0") == ["1"]
        async with store.pool.lease(["0"], NO_TICKET) as (old,):
            await store.replace("0", "2")
            assert await store.ask("0") == ["2"]
            assert texts_of(await old.engine.translate([sentence("c")])) == ["C"]
            assert old.engine.is_ready
        await eventually(lambda: store.pool.num_bytes == 1)
        assert not old.engine.is_ready
        assert store.most_bytes == 2


async def test_no_request_fails_while_versions_change() -> None:
    async with store_of(2, limit=2) as store:
        is_done = False

        async def keep_asking() -> int:
            count = 0
            while not is_done:
                await store.ask("0")
                count += 1
            return count

        await store.ask("0")
        asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
        for version in range(20):
            await store.replace("0", str(version))
            assert await store.ask("0") == [str(version)]
        is_done = True
        assert sum(await asyncio.gather(*asking)) > 20
        await eventually(lambda: store.pool.num_bytes == 1)


async def test_a_version_that_is_replaced_while_it_loads_answers_nobody() -> None:
    async with store_of(1, limit=1) as store:
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("0"))
        await eventually(lambda: store.most_at_once == 1)
        new = PooledModel("0", store.loadable("0", version="2"), store.metrics_of("0"))
        store.pool.offer([new])
        with pytest.raises(ModelChanged):
            await waiting
        store.gate.set()
        assert await store.ask("0") == ["2"]
        assert store.pool.num_bytes == 1
        assert store.count("ready", "0") == 1


async def test_a_request_waits_for_its_model_while_others_come_and_go() -> None:
    async with store_of(2, limit=1) as store:
        store.gate.clear()
        waiting = asyncio.create_task(store.ask("0"))
        await eventually(lambda: store.most_at_once == 1)
        await store.add("2")
        store.pool.offer([store.pool.models["0"]])
        store.gate.set()
        assert await waiting == ["1"]


async def test_a_model_that_is_removed_while_it_leaves_is_not_loaded_again() -> None:
    async with store_of(3, limit=1) as store:
        await store.ask("0")
        async with store.pool.lease(["0"], None):
            replacing = asyncio.create_task(store.replace("1", "2"))
            await eventually(lambda: store.pool.models["0"].usable is None)
            waiting = asyncio.create_task(store.ask("0"))
            for _ in range(5):  # turns of the event loop, in which it begins to wait for its model
                await asyncio.sleep(0)
            store.pool.offer([store.pool.models[name] for name in "12"])
            with pytest.raises(ModelChanged):
                await waiting
        await replacing
        await store.ask("2")
        assert store.loads == ["0", "1", "2"]


async def test_no_model_leaves_for_one_with_damaged_files_which_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with store_of(1, limit=1) as store:
        await store.ask("0")

        def open_damaged() -> Load:
            raise CheckpointError("the weights are truncated")

        damaged = PooledModel("1", Loadable("1", open_damaged, 1), store.metrics_of("1"))
        store.pool.offer([*store.pool.models.values(), damaged])
        for _ in range(3):
            with pytest.raises(NotReady):
                await store.ask("1")
            damaged.failed_seconds = float("-inf")
        assert damaged.is_damaged
        assert set(store.pool.engines) == {"0"}
        assert store.count("model_load_failures_total", "1") == 3
        assert caplog.text.count("the weights are truncated") == 1


async def test_a_removed_model_has_no_gauges_and_counts_on_when_it_returns() -> None:
    async with store_of(1, limit=1) as store:
        for count in (1, 2):
            await store.ask("0")
            assert store.count("ready", "0") == 1
            assert store.count("model_loads_total", "0") == count
            store.pool.offer([])
            page = store.metrics.render().decode()
            assert not re.search(r"^dragoman_(ready|rows|model_bytes)\{", page, re.MULTILINE)
            await store.add("0")
        await store.ask("0")
        await eventually(lambda: store.pool.num_bytes == 1)
        assert store.count("ready", "0") == 1


@pytest.mark.parametrize("nth", range(1, 7))
async def test_models_come_and_leave_though_the_system_has_no_thread_once(
    nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.models.pool._AFTER_FAILURE_SECONDS", 0.0)
    start, numbers = threading.Thread.start, itertools.count(1)

    def start_if_possible(thread: threading.Thread) -> None:
        if next(numbers) == nth:
            raise RuntimeError("can't start new thread")
        start(thread)

    async with store_of(3, limit=2) as store, asyncio.timeout(60):
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", start_if_possible)
            for name in "01201":
                with contextlib.suppress(NotReady):
                    await store.ask(name)
        assert next(numbers) > nth
        for name in "0120":
            await store.ask(name)
        assert store.pool.num_bytes == len(store.pool.engines) == 2
