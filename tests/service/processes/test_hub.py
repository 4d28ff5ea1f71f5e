"""What front ends have in common is the same wherever it is counted and kept."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from service.commons.commons import Commons, Files
from service.commons.local import local_commons, open_keys
from service.commons.stored_file import StoredFile
from service.errors import NotReady
from service.models.served import ModelState
from service.observability.metrics import Metrics
from service.processes.control import LOST, ParentEnd, Peer
from service.processes.gathered_metrics import GatheredMetrics
from service.processes.hub import Hub
from service.processes.remote_hub import RemoteHub
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore, Used
from tests.service.fakes import eventually

FILE = StoredFile("a_de.txt", "text/plain", "owner", "address/1", 2000)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    directory = tmp_path / "documents"
    return Settings(database=tmp_path / "server.db", api_keys="optional", documents_dir=directory)


class Fronts:
    """The front ends of a server and their hub, which may end and come back."""

    def __init__(self, settings: Settings, count: int) -> None:
        self.settings = settings
        self.metrics = [Metrics() for _ in range(count)]
        self.hubs = [RemoteHub(one) for one in self.metrics]
        self.commons = [hub.commons(settings) for hub in self.hubs]
        self.connected: set[int] = set()
        self._stack = contextlib.ExitStack()
        self._files = contextlib.AsyncExitStack()
        """The directory of files, which a hub has for itself."""

    async def start(self) -> None:
        """A new hub, and connections to it; the one before ends."""
        await self.cut(*self.connected)
        keys = open_keys(self.settings)
        assert keys is not None
        self._stack.enter_context(closing(keys))
        gathered = GatheredMetrics(["engine-0"], lambda: ["a"])
        self.parent, line = ParentEnd.pair()
        self._stack.enter_context(closing(self.parent))
        self._stack.enter_context(closing(line))
        await self._files.aclose()
        commons = local_commons(self.settings, keys)
        await self._files.enter_async_context(commons.files.running())
        self.hub = hub = Hub("hub", commons, gathered, ["engine-0"], line)
        for number in range(len(self.hubs)):
            ours, theirs = socket.socketpair()
            await hub.connect(Peer(f"front-end-{number}", number), theirs)
            await self.hubs[number].connect(ours, functools.partial(self.connected.remove, number))
            self.connected.add(number)

    async def cut(self, *numbers: int) -> None:
        """End the connections of these."""
        for number in numbers:
            self.hubs[number].close()
        await eventually(lambda: self.connected.isdisjoint(numbers))

    async def end(self) -> None:
        await self.cut(*self.connected)
        for _ in range(3):
            await asyncio.sleep(0)  # the hub sees them end
        await self._files.aclose()
        self._stack.close()


@contextlib.asynccontextmanager
async def front_ends(settings: Settings, count: int = 2) -> AsyncGenerator[Fronts]:
    fronts = Fronts(settings, count)
    await fronts.start()
    yield fronts
    await fronts.end()


@pytest.fixture(params=["here", "there"])
async def commons(
    request: pytest.FixtureRequest, settings: Settings
) -> AsyncGenerator[Sequence[Commons]]:
    """Those of two requests: of one process, or of two front ends with a hub."""
    if request.param == "here":
        keys = open_keys(settings)
        yield [local_commons(settings, keys)] * 2
        assert keys is not None
        keys.close()
    else:
        async with front_ends(settings) as fronts:
            yield fronts.commons


async def test_what_one_counts_the_other_sees(commons: Sequence[Commons]) -> None:
    one, other = commons
    assert one.windows is not None
    assert other.windows is not None
    assert [await one.windows.count("a", 2), await other.windows.count("a", 2)] == [None, None]
    seconds = await one.windows.count("a", 2)
    assert seconds is not None
    assert 1 <= seconds <= 120
    assert await other.windows.count("a", 2, is_test=True) is not None
    assert [await other.windows.count("b", 1, is_test=True) for _ in range(3)] == [None] * 3
    assert [await one.windows.count("c", 5, 3), await other.windows.count("c", 5, 2)] == [None] * 2
    assert await one.windows.count("c", 5) is not None


async def test_places_are_taken_and_left_by_either(commons: Sequence[Commons]) -> None:
    one, other = (each.places for each in commons)
    assert [await one.take("a", 2), await other.take("a", 2), await one.take("a", 2)] == [
        True,
        True,
        False,
    ]
    other.leave("a")
    assert await one.take("a", 2)
    assert not await other.take("a", 2)
    assert await other.take("b", 2)


async def test_no_two_requests_take_the_last_of_a_quota(commons: Sequence[Commons]) -> None:
    one, other = (each.usage for each in commons)
    assert one is not None
    assert other is not None
    assert await one.reserve("a", 6, 10)
    assert not await other.reserve("a", 5, 10)
    assert await other.reserve("a", 4, 10)
    one.settle("a", 6, is_used=True)
    other.settle("a", 4, is_used=False)
    assert not await other.reserve("a", 5, 10)
    assert await one.used("a") == await other.used("a") == Used(1, 6)
    assert await one.reserve("a", 4, 10)
    assert await other.reserve("a", 10**6, 0)


async def test_a_file_is_found_by_either_and_removed_for_both(commons: Sequence[Commons]) -> None:
    """Its state too; who has it in work hears that it is removed."""
    one, other = (each.files for each in commons)
    cancelled: list[str] = []
    one.follow(cancelled.append)
    assert await one.add(FILE) == "taken"
    commons[0].spool.write_sent(FILE.name, b"sent")
    assert await state_of(other, FILE) == "queued"
    one.progress(FILE.name, 0, 10)
    assert await one.keep(FILE.name, 4)
    assert await state_of(other, FILE) == "translating"
    commons[0].spool.write_translated(FILE.name, b"done")
    await one.finish(FILE.name, "en")
    found = await other.find(FILE.name)
    assert found is not None
    assert (found.state, found.source, found.key) == ("done", "en", FILE.key)
    with commons[1].spool.open_translated(FILE.name) as translated:
        assert translated.read() == b"done"
    other.remove(FILE.name)
    assert await other.find(FILE.name) is None
    assert await one.find(FILE.name) is None
    again = dataclasses.replace(FILE, name="again")
    assert await one.add(again) == "taken"
    other.remove(again.name)
    await eventually(lambda: cancelled == [again.name])
    assert not await one.keep(again.name, 4)
    failed = dataclasses.replace(FILE, name="failed")
    assert await one.add(failed) == "taken"
    one.fail(failed.name, "code", "message", "de")
    found = await one.find(failed.name)
    assert found is not None
    assert (found.state, found.error, found.source) == ("error", ("code", "message"), "de")


async def state_of(files: Files, file: StoredFile) -> str:
    found = await files.find(file.name)
    assert found is not None
    return found.state


async def test_the_files_of_a_dead_front_end_or_hub_fail(settings: Settings) -> None:
    files = [dataclasses.replace(FILE, name=name) for name in ("a", "b", "c")]
    async with front_ends(settings) as fronts:
        one, other = (each.files for each in fronts.commons)
        assert [await one.add(files[0]), await other.add(files[1])] == ["taken", "taken"]
        await fronts.cut(0)
        while await state_of(other, files[0]) != "error":
            await asyncio.sleep(0)
        assert await state_of(other, files[1]) == "queued"
        await fronts.start()
        assert [await state_of(one, file) for file in files[:2]] == ["error", "error"]
        assert await other.add(files[2]) == "taken"


async def test_what_is_written_of_a_file_that_its_hub_has_lost_leaves_the_disk(
    settings: Settings, tmp_path: Path
) -> None:
    async with front_ends(settings) as fronts:
        files, spool = fronts.commons[0].files, fronts.commons[0].spool
        names = ["a", "b"]
        for name in names:
            assert await files.add(dataclasses.replace(FILE, name=name)) == "taken"
        await fronts.start()
        for name in names:
            spool.write_sent(name, b"sent")
            spool.write_translated(name, b"done")
        files.fail("a", "code", "message")
        await files.finish("b", "en")
        left = {path.name for path in (tmp_path / "documents").iterdir()}
        assert left == {"lock", "a.json", "b.json"}


async def test_what_a_dead_front_end_has_taken_is_given_back(settings: Settings) -> None:
    async with front_ends(settings) as fronts:
        one, other = fronts.commons
        assert one.usage is not None
        assert other.usage is not None
        assert [await one.places.take("a", 2) for _ in range(3)] == [True, True, False]
        one.places.leave("a")
        for _ in range(2):
            assert await one.usage.reserve("k", 10, 10)
            one.usage.settle("k", 10, is_used=False)
        assert await one.usage.reserve("k", 10, 10)
        await fronts.cut(0)
        assert [await other.places.take("a", 1) for _ in range(2)] == [True, False]
        assert [await other.usage.reserve("k", 10, 10) for _ in range(2)] == [True, False]
        assert len(fronts.hub._held_files) == len(fronts.connected) == 1


async def test_a_request_that_leaves_before_its_place_is_known_gives_it_back(
    settings: Settings,
) -> None:
    async with front_ends(settings) as fronts:
        one, other = fronts.commons
        assert one.usage is not None
        assert other.usage is not None
        for taking in (one.places.take("a", 1), one.usage.reserve("k", 10, 10)):
            asked = asyncio.ensure_future(taking)
            await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
        while not await other.places.take("a", 1):
            await asyncio.sleep(0)
        while not await other.usage.reserve("k", 10, 10):
            await asyncio.sleep(0)
        assert fronts.connected == {0, 1}


async def test_a_file_that_is_removed_before_it_is_known_whether_it_has_room_takes_none(
    settings: Settings,
) -> None:
    async with front_ends(settings) as fronts:
        one, other = (each.files for each in fronts.commons)
        cancelled: list[str] = []
        one.follow(cancelled.append)
        asked = asyncio.ensure_future(one.add(FILE))
        await asyncio.sleep(0)
        asked.cancel()
        one.remove(FILE.name)
        with pytest.raises(asyncio.CancelledError):
            await asked
        await eventually(lambda: cancelled == [FILE.name])
        assert await other.find(FILE.name) is None
        assert fronts.connected == {0, 1}


async def test_without_a_hub_nothing_waits_and_with_the_next_all_goes_on(
    settings: Settings,
) -> None:
    async with front_ends(settings) as fronts:
        one, other = fronts.commons
        assert one.usage is not None
        assert await one.places.take("a", 1)
        assert await one.usage.reserve("k", 3, 10)
        waiting = asyncio.ensure_future(fronts.hubs[0].ask("page", bytes))
        await asyncio.sleep(0)
        await fronts.cut(0, 1)
        with pytest.raises(NotReady):
            await waiting
        with pytest.raises(NotReady):
            await one.files.find("a")
        one.places.leave("b")  # nobody hears it
        await fronts.start()
        one.places.leave("a")  # a place of the hub that has ended
        one.usage.settle("k", 3, is_used=True)
        assert await one.usage.used("k") == Used(1, 3)
        assert not await one.usage.reserve("k", 8, 10)
        assert await other.places.take("a", 1)
        assert not await one.places.take("a", 1)


async def test_the_parent_hears_of_an_engine_that_is_lost_and_not_of_a_front_end(
    settings: Settings,
) -> None:
    """A front end says it itself."""
    said: list[tuple[str, Peer | None]] = []

    def hears() -> bool:
        said.extend(fronts.parent.said())
        return bool(said)

    async with front_ends(settings) as fronts:
        engine, (ours, theirs) = Peer("engine-0", 5), socket.socketpair()
        await fronts.hub.connect(engine, theirs)
        await fronts.cut(0)
        await eventually(lambda: len(fronts.hub._held_files) == 2)
        ours.close()
        await eventually(hears)
    assert said == [(LOST, engine)]


async def test_a_question_without_an_answer_ends_the_connection_and_nobody_waits(
    settings: Settings,
) -> None:
    unforeseen: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unforeseen.append(context["exception"]))
    async with front_ends(settings) as fronts:
        for question, arguments in (("add", ["no file"]), ("count", []), ("nothing", [])):
            with pytest.raises(NotReady):
                await fronts.hubs[0].ask(question, int, *arguments)
            await eventually(lambda: fronts.connected == {1})
            await fronts.start()
    assert len(unforeseen) == 3


async def test_the_metrics_of_all_are_one_page_and_those_of_the_dead_stay(
    settings: Settings,
) -> None:
    async with front_ends(settings) as fronts:
        for number, metrics in enumerate(fronts.metrics):
            metrics.count_request("/translate", "ok", 0.1 * number)
        for each in fronts.hubs:
            page = (await each.render_metrics()).decode()
            assert 'dragoman_requests_total{endpoint="/translate",outcome="ok"} 2.0' in page
            assert 'dragoman_ready{model="a",process="engine-0"} 0.0' in page
            assert 'process_open_fds{process="hub"}' in page
        await fronts.cut(0)
        page = (await fronts.hubs[1].render_metrics()).decode()
        assert 'dragoman_requests_total{endpoint="/translate",outcome="ok"} 2.0' in page


async def test_usage_through_a_hub_is_stored(settings: Settings, tmp_path: Path) -> None:
    with closing(KeyStore(tmp_path / "server.db")) as store:
        _, key = store.create(KeyOptions())
        async with front_ends(settings) as fronts:
            usage = fronts.commons[0].usage
            assert usage is not None
            assert await usage.reserve(key.id, 5, 0)
            usage.settle(key.id, 5, is_used=True)
            assert await usage.used(key.id) == Used(1, 5)


async def test_models_are_shown_as_all_front_ends_see_them(settings: Settings) -> None:
    """And each looks for the new version that one has. Engines are not asked."""

    def state(name: str, where: Literal["loaded", "loading", "stored"], count: int) -> ModelState:
        return ModelState(name, where, False, 1, count, ["de"], ["en"])

    async with front_ends(settings) as fronts:
        ours, theirs = socket.socketpair()
        await fronts.hub.connect(Peer("engine-0", 5), theirs)
        told = [
            [state("a", "loaded", 1), state("b", "stored", 0)],
            [state("a", "stored", 0), state("b", "loading", 0), state("c", "loaded", 2)],
        ]
        looked: list[str] = []
        for hub, own in zip(fronts.hubs, told, strict=True):
            hub.answer("states", lambda own=own: own)
            hub.answer("look", looked.append)
        assert await fronts.hubs[0].ask("states", list[ModelState]) == [
            state("a", "loaded", 1),
            state("b", "loading", 0),
            state("c", "loaded", 2),
        ]
        fronts.hubs[1].tell("look", "a")
        await eventually(lambda: looked == ["a", "a"])
        ours.setblocking(False)
        with closing(ours), pytest.raises(BlockingIOError):
            ours.recv(1)
