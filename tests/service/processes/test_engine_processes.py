"""Models that a front end has loaded into processes, which end and come back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from service.engine.engine import Engine, EngineLimits
from service.errors import NotReady
from service.observability.metrics import Metrics
from service.processes.remote_engine import RemoteEngine
from tests.service.fakes import FakeRunner, eventually, sentence, texts_of
from tests.service.models.far_engines import FarEngines, Load, far_engines

FIRST, SECOND = "engine-0", "engine-1"


def new_engine() -> Engine:
    limits = EngineLimits(1000, 10**6, 1024)
    return Engine([FakeRunner], Metrics().of_model("fake"), limits)


def held_until(gate: threading.Event, load: Load = new_engine) -> Load:
    """A load that waits."""

    def load_later() -> Engine:
        gate.wait(60)
        return load()

    return load_later


def failing_after(count: int) -> Load:
    """A load that fails from the second time on, or a later one."""

    def load() -> Engine:
        nonlocal count
        count -= 1
        if count < 0:
            raise ValueError("the files have changed")
        return new_engine()

    return load


async def answers(engine: RemoteEngine) -> bool:
    return texts_of(await engine.translate([sentence("ab")])) == ["AB"]


def is_everywhere(far: FarEngines, engine: RemoteEngine) -> Callable[[], bool]:
    processes = far.processes.there
    return lambda: (
        len(processes) == len(far.names)
        and all(engine.model in one.ready for one in processes.values())
    )


async def test_a_process_that_comes_back_loads_what_the_others_have() -> None:
    async with far_engines(2) as far:
        engines = [await far.load_soon(name, new_engine) for name in "ab"]
        await eventually(lambda: far.num_loaded == 4)
        await far.end(FIRST)
        assert all([await answers(engine) for engine in engines])
        await far.start(FIRST)
        for engine in engines:
            await eventually(is_everywhere(far, engine))
            engine.stop()
        await eventually(lambda: not far.num_loaded)
        assert not far.lost
        assert not far.processes._engines


async def test_without_any_process_a_model_is_not_ready_until_one_has_it_again() -> None:
    async with far_engines() as far:
        gate = threading.Event()
        gate.set()
        engine = await far.load_soon("a", held_until(gate))
        gate.clear()
        await far.end(FIRST)
        await far.start(FIRST)
        await eventually(lambda: bool(far.processes.there))
        assert not engine.is_ready
        with pytest.raises(NotReady):
            await engine.translate([sentence("ab")])
        gate.set()
        await eventually(lambda: engine.is_ready)
        assert await answers(engine)


@pytest.mark.parametrize("place", [0, 1])
async def test_a_model_that_is_let_go_while_a_process_loads_again_does_not_stay(place: int) -> None:
    """Whether it is the one that is being loaded or waits for its turn."""
    async with far_engines() as far:
        gate = threading.Event()
        gate.set()
        engines = [await far.load_soon(name, held_until(gate)) for name in ("a", "b")]
        await far.end(FIRST)
        gate.clear()
        await far.start(FIRST)
        await eventually(lambda: bool(far.processes.there))
        engines[place].stop()
        gate.set()
        other = await far.load_soon("c", new_engine)
        await eventually(lambda: far.num_loaded == 2)
        assert await answers(other)
        assert not far.lost


async def test_what_a_process_cannot_load_again_is_lost_and_the_rest_is_not() -> None:
    async with far_engines(2) as far:
        lost = await far.load_soon("a", failing_after(2))
        kept = await far.load_soon("b", new_engine)
        await eventually(lambda: far.num_loaded == 4)
        await far.end(FIRST)
        await far.start(FIRST)
        await eventually(is_everywhere(far, kept))
        assert far.lost == [lost.model]


async def test_a_model_in_whose_loading_a_process_ends_again_is_lost() -> None:
    """It may be the reason."""
    async with far_engines(2) as far:
        gate = threading.Event()
        gate.set()
        first = await far.load_soon("a", held_until(gate))
        second = await far.load_soon("b", new_engine)
        await eventually(lambda: far.num_loaded == 4)
        await far.end(FIRST)
        gate.clear()
        await far.start(FIRST)
        await eventually(lambda: FIRST in far.processes.there)
        await far.end(FIRST)
        await eventually(lambda: far.lost == [first.model])
        assert await answers(second)
        gate.set()


async def test_a_load_goes_on_in_those_that_stay_and_in_the_next_if_all_end() -> None:
    async with far_engines(2) as far:
        gate = threading.Event()
        loading = asyncio.ensure_future(far.load_soon("a", held_until(gate)))
        await eventually(lambda: far.num_loading > 0)
        await far.end(FIRST)
        gate.set()
        assert await answers(await loading)
        gate.clear()
        loading = asyncio.ensure_future(far.load_soon("b", held_until(gate)))
        await eventually(lambda: far.num_loading > 0)
        await far.end(SECOND)
        await far.start(FIRST)
        gate.set()
        assert await answers(await loading)


async def test_a_model_that_ends_each_process_fails_for_its_own_requests() -> None:
    async with far_engines() as far:
        gate = threading.Event()
        loading = asyncio.ensure_future(far.load_soon("a", held_until(gate)))
        for _ in range(2):
            await eventually(lambda: bool(far.processes.there) and far.num_loading > 0)
            await far.end(FIRST)
            await eventually(lambda: not far.processes.there)
            await far.start(FIRST)
        with pytest.raises(ValueError, match="the engine ended while it loaded the model"):
            await loading
        gate.set()
        assert await answers(await far.load_soon("b", new_engine))


async def test_a_model_works_where_it_could_be_loaded() -> None:
    async with far_engines(2) as far:
        assert await answers(await far.load_soon("a", failing_after(1)))
        await eventually(lambda: far.num_loaded == 1)
        with pytest.raises(ValueError, match="the files have changed"):
            await far.load_soon("b", failing_after(0))
        await eventually(lambda: far.num_loaded == 1)


async def test_what_could_not_be_loaded_is_not_tried_in_a_process_that_comes_back() -> None:
    async with far_engines() as far:
        with pytest.raises(ValueError, match="the files have changed"):
            await far.load_soon("a", failing_after(0))
        await far.end(FIRST)
        await far.start(FIRST)
        assert await answers(await far.load_soon("b", new_engine))
        assert not far.lost


async def test_a_model_that_was_reserved_and_has_left_is_loaded_again() -> None:
    async with far_engines() as far:
        far.loads["1"] = new_engine
        async with far.processes.reserved([far.files_of(name, "1") for name in "ab"]):
            assert far.num_loaded == 2
        await eventually(lambda: not far.num_loaded)
        assert await answers(await far.load_soon("a", new_engine, version="1"))


async def test_a_load_waits_for_no_process_but_the_first() -> None:
    """Else two front ends could each wait for what the other has."""
    async with far_engines(2) as far:
        gate, is_first = threading.Event(), iter((True, False))
        engine = await far.load_soon(
            "a", lambda: (next(is_first) or gate.wait(60)) and new_engine()
        )
        assert await answers(engine)
        gate.set()
        await eventually(is_everywhere(far, engine))


async def test_a_front_end_that_ends_leaves_no_model_behind() -> None:
    async with far_engines(2) as far:
        await far.load_soon("a", new_engine)
        far.processes.close()
        await eventually(lambda: not far.num_loaded)
