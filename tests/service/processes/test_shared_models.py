"""Several front ends have models in memory in the same processes, whose memory is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import pytest

from service.engine.engine import Engine, EngineLimits
from service.engine.ticket import NO_TICKET, Ticket
from service.errors import DeadlineExceeded, NotReady
from service.models import pooled
from service.models.pool import ModelPool
from service.models.pooled import Loadable, PooledModel
from service.observability.metrics import Metrics
from service.processes import engine_server
from service.processes.engine_processes import EngineProcesses
from service.processes.remote_engine import RemoteEngine
from service.translation.leases import ModelChanged
from tests.service.fakes import FakeRunner, eventually, sentence, texts_of
from tests.service.models.far_engines import FarEngines, far_engines

SEED = 58
NUM_MODELS, LIMIT, NUM_ROUNDS = 8, 3, 10


@pytest.fixture(autouse=True)
def fast_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wanted back is told with the state of the engines."""
    monkeypatch.setattr(engine_server, "_STATE_SECONDS", 0.005)


class There(NamedTuple):
    """A model in memory in the processes, and what it answers."""

    engine: RemoteEngine
    answer: str


class FrontEnd:
    """Asks as a front end does. Its pool knows of no other front end."""

    def __init__(self, far: FarEngines) -> None:
        self.far = far
        self.pool = ModelPool[There](LIMIT, 10_000, reserve=self._reserved)
        self.processes = EngineProcesses((), self._let_go)

    async def start(self) -> None:
        self.processes = await self.far.start_front_end(self._let_go)
        self.pool.start()
        await self.offer({str(number): 0 for number in range(NUM_MODELS)})

    def end(self) -> None:
        """As if the process ended: nothing is given back."""
        self.far.end_front_end(self.processes)
        for process in self.processes.there.values():
            process.fail_all(NotReady("the front end has ended"))
        self.pool.stop()

    def has_leases(self) -> bool:
        residents = [model.resident for model in self.pool.models.values()]
        return any(resident and resident.num_leases for resident in residents)

    async def offer(self, versions: dict[str, int]) -> None:
        """A new version of a model in memory is loaded before, beside the old one."""
        known, offered = self.pool.models, []
        for name, version in versions.items():
            old = known.get(name)
            if old is None or old.loadable.version != str(version):
                offered.append(self._version(name, str(version)))
                if old is not None and old.resident is not None:
                    await self.pool.load(offered[-1])
            else:
                offered.append(old)
        self.pool.offer(offered)

    async def ask_later(self, *names: str) -> None:
        """Once every model may leave, so that the choice does not hang on how long loads took."""
        residents = [one for pool in self.far.pools for one in pool._residents]
        await eventually(lambda: all(o.may_leave_seconds < time.monotonic() for o in residents))
        await self.ask(names)

    async def ask(self, names: Sequence[str], seconds: float | None = None) -> None:
        async with self.pool.lease(names, Ticket.issued("", seconds)) as models:
            for model in models:
                await asyncio.sleep(0)
                (outcome,) = await model.engine.translate([sentence("ab")])
                if outcome.error is not None:
                    raise outcome.error
                assert texts_of([outcome]) == [model.answer]

    def _version(self, name: str, version: str) -> PooledModel[There]:
        answer = f"{name}.{version}"

        def new_engine() -> Engine:
            runner = FakeRunner()
            runner.garbled = {"AB": answer}
            metrics = self.far.metrics.of_model(name)
            return Engine([lambda: runner], metrics, EngineLimits(1000, 10**6, 1024))

        def load() -> There:
            engine = self.far.load_there(name, new_engine, self.processes, answer)
            return There(engine, answer)

        self.far.loads[answer] = new_engine
        loadable = Loadable(version, lambda: load, 1, file_bytes=1000)
        return PooledModel(name, loadable, Metrics().of_loads(name))

    def _reserved(
        self, models: Sequence[PooledModel[There]]
    ) -> contextlib.AbstractAsyncContextManager[None]:
        names = [(one.name, f"{one.name}.{one.loadable.version}") for one in models]
        return self.processes.reserved([self.far.files_of(*one) for one in names])

    def _let_go(self, key: str) -> None:
        for model in self.pool.models.values():
            if model.resident is not None and model.resident.loaded.engine.model == key:
                self.pool.let_go(model)


@contextlib.asynccontextmanager
async def front_ends(count: int, num_processes: int) -> AsyncIterator[list[FrontEnd]]:
    """At the end no process has a model any more."""
    async with far_engines(num_processes, LIMIT) as far:
        started = [FrontEnd(far) for _ in range(count)]
        for one in started:
            await one.start()
        yield started
        for one in started:
            if one.processes in far.front_ends:
                one.end()
        await eventually(lambda: not far.num_loaded)


async def test_a_model_is_in_memory_once_and_leaves_with_the_last_front_end_that_has_it() -> None:
    async with front_ends(3, 1) as (first, second, third):
        far = first.far
        for one in (first, second, third):
            await one.ask(["0"])
        assert far.num_loaded == 1
        await first.offer({"1": 0})
        second.end()
        await third.ask(["0"])
        assert far.num_loaded == 1
        await third.offer({"1": 0})
        await eventually(lambda: not far.num_loaded)


async def test_what_another_front_end_uses_less_is_given_back_for_what_is_asked() -> None:
    """Also while a request there waits for another model, and has this one."""
    async with front_ends(2, 1) as (first, second):
        for name in ("0", "1", "2", "0"):
            await first.ask([name])
        for name in ("3", "4"):
            await second.ask_later(name)
        assert set(first.pool.engines) == {"0"}
        assert set(second.pool.engines) == {"3", "4"}
        async with second.pool.lease(["3", "4"], NO_TICKET):
            await second.ask_later("3", "5")
            assert not first.pool.engines
        await asyncio.gather(second.ask(["3", "4"]), first.ask(["6", "7"]))


async def test_for_the_model_of_a_long_request_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its memory is wanted first, as its last request is the oldest."""
    monkeypatch.setattr(pooled, "_PATIENCE_SECONDS", 0.01)
    async with front_ends(2, 1) as (first, second), second.pool.lease(["3"], NO_TICKET):
        for name in ("0", "1"):
            await first.ask([name])
        await first.ask_later("5")
        assert "3" in second.pool.engines


async def test_two_requests_of_two_models_never_wait_for_each_other() -> None:
    async with front_ends(4, 2) as started:
        rounds = [(str(number), str(number + 1)) for number in range(0, NUM_MODELS, 2)]
        async with asyncio.timeout(30):
            for shift in range(4):
                names = rounds[shift % 4 :] + rounds[: shift % 4]
                asked = [one.ask(own) for one, own in zip(started, names, strict=True)]
                await asyncio.gather(*asked)


async def restart_process(far: FarEngines, name: str) -> None:
    await far.end(name)
    await far.start(name)


async def restart_front_end(started: list[FrontEnd], place: int) -> None:
    started[place].end()
    started[place] = FrontEnd(started[place].far)
    await started[place].start()


async def test_every_request_is_answered_by_its_model_whatever_ends() -> None:
    """Requests of one or two of eight models, of which three fit, while versions change, and
    processes and front ends end and come back. Requests fail only while something is gone."""
    chance, outcomes = random.Random(SEED), Counter[str]()
    versions = Counter[str]({str(number): 0 for number in range(NUM_MODELS)})
    async with front_ends(3, 2) as started:
        far, is_whole = started[0].far, True

        async def request() -> None:
            names = [str(chance.randrange(NUM_MODELS)) for _ in range(chance.choice((1, 1, 2)))]
            was_whole, seconds = is_whole, chance.choice((30.0, 30.0, 0.0))
            try:
                await chance.choice(started).ask(names, seconds)
                outcomes["answered"] += 1
            except DeadlineExceeded:
                assert not seconds
                outcomes["left"] += 1
            except (NotReady, ModelChanged):
                assert not (was_whole and is_whole)
                outcomes["failed"] += 1

        async def happen() -> None:
            nonlocal is_whole
            is_whole = False
            match chance.randrange(3):
                case 0:
                    await restart_process(far, chance.choice(far.names))
                case 1:
                    await restart_front_end(started, chance.randrange(len(started)))
                case _:
                    versions[str(chance.randrange(NUM_MODELS))] += 1
            for one in started:
                with contextlib.suppress(NotReady):
                    await one.offer(versions)

        async with asyncio.timeout(60):
            for _ in range(NUM_ROUNDS):
                await asyncio.gather(*(request() for _ in range(12)), happen())
                is_whole = True
                await asyncio.gather(*(request() for _ in range(12)))
        assert outcomes["answered"] > 3 * outcomes["failed"]
        assert not any(map(FrontEnd.has_leases, started))
        await eventually(lambda: all(pool.num_bytes <= LIMIT for pool in far.pools))
