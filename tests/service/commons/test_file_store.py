"""Sent files: each ends, each translation is its client's, all stay within their bounds, whatever
happens in which order."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from service.commons.file_store import FILE_LOST, FileBounds, FileStore
from service.commons.spool import Spool
from service.commons.stored_file import StoredFile

NUM_CLIENTS = 4
ENTRY_BYTES = 16_384
T = TypeVar("T")


def sent(size: int = 0, client: str = "address/1") -> StoredFile:
    return StoredFile("a_de.txt", "text/plain", client, client, size)


def store_in(path: Path, max_bytes: int, now: list[float], max_files: int = 100) -> FileStore:
    return FileStore(Spool(path), FileBounds(max_files, max_bytes, 600), lambda: now[0])


async def translated(store: FileStore, size: int, client: str = "address/1") -> str | None:
    """The name of a file whose translation has so many bytes; None if there is no room for it."""
    file = sent(client=client)
    assert await store.add(file) == "taken"
    if not await store.keep(file.name, size):
        store.fail(file.name, "storage_failed", "no room")
        return None
    await store.finish(file.name, "en")
    return file.name


async def has(store: FileStore, *names: str) -> list[bool]:
    return [await store.find(name) is not None for name in names]


async def test_a_translation_is_found_by_its_name_until_it_expires(tmp_path: Path) -> None:
    now = [0.0]
    store = store_in(tmp_path, 10**6, now)
    name, other = await translated(store, 7), await translated(store, 7)
    assert name is not None
    file = await store.find(name)
    assert file is not None
    assert len({name, other, file.key}) == 3
    now[0] = 600
    assert await has(store, name) == [True]
    now[0] = 601
    assert await has(store, name) == [False]


@pytest.mark.parametrize("jump", [-(10**6), 10**6])
async def test_a_clock_that_is_moved_ends_no_file_and_keeps_none(tmp_path: Path, jump: int) -> None:
    """Not even over an end of the server, whose next clock begins anew."""
    now, moved = [5000.0], [10.0**9]
    bounds = FileBounds(100, 10**6, 600)

    def store() -> FileStore:
        return FileStore(Spool(tmp_path), bounds, lambda: now[0], lambda: moved[0])

    first = store()
    name = await translated(first, 7)
    assert name is not None
    now[0], moved[0] = now[0] + 200, moved[0] + 200 + jump
    assert await has(first, name) == [True]
    other = await translated(first, 7)
    assert other is not None
    now[0], moved[0] = 100, moved[0] + 300
    second = store()
    async with second.running():
        assert await has(second, other) == [True]
        now[0] += 601
        assert await has(second, name, other) == [False, False]


async def test_the_seconds_that_are_left_follow_the_rate_so_far(tmp_path: Path) -> None:
    now = [0.0]
    store = store_in(tmp_path, 10**6, now)
    file = sent()
    await store.add(file)

    async def left() -> tuple[str, int | None]:
        found = await store.find(file.name)
        assert found is not None
        return found.state, found.seconds_left(now[0])

    assert await left() == ("queued", None)
    now[0] = 100
    store.progress(file.name, 0, 0)
    store.progress(file.name, 0, 1000)
    assert await left() == ("translating", None)
    now[0] = 110
    store.progress(file.name, 250, 1000)
    assert await left() == ("translating", 30)
    now[0] = 125
    assert await left() == ("translating", 15)
    now[0] = 200
    assert await left() == ("translating", 1)
    await store.finish(file.name, "en")
    assert await left() == ("done", 0)


@given(
    st.lists(st.tuples(st.integers(0, NUM_CLIENTS - 1), st.integers(0, 120_000)), max_size=20),
)
@example([(0, 90_000), (1, 90_000), (2, 110_000), (3, 120_000)])
async def test_who_has_at_most_an_equal_share_loses_nothing_to_others(
    added: list[tuple[int, int]],
) -> None:
    max_bytes = 250_000
    names: dict[int, list[tuple[str, int]]] = {client: [] for client in range(NUM_CLIENTS)}
    failed_bytes: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as path:
        store = store_in(Path(path), max_bytes, [0.0])
        for client, size in added:
            name = await translated(store, size, f"address/{client}")
            if name is None:  # its client would have more than an equal share
                own = sum(size for _, size in names[client]) + failed_bytes[client]
                assert own + size + ENTRY_BYTES > max_bytes / NUM_CLIENTS
                failed_bytes[client] += ENTRY_BYTES
                continue
            names[client].append((name, size + ENTRY_BYTES))
            assert await has(store, name) == [True]
            kept = {one: await has(store, *(name for name, _ in names[one])) for one in names}
            for one, files in names.items():
                own = sum(size for _, size in files) + failed_bytes[one]
                if own <= max_bytes / NUM_CLIENTS:
                    assert all(kept[one])
                assert kept[one] == sorted(kept[one])  # the oldest go first
            sizes = [size for files in names.values() for _, size in files]
            is_kept = [is_there for one in names for is_there in kept[one]]
            total = sum(size for size, is_there in zip(sizes, is_kept, strict=True) if is_there)
            assert total <= max_bytes


async def test_who_has_lost_everything_has_no_share_any_more(tmp_path: Path) -> None:
    """The shares of the others grow."""
    store = store_in(tmp_path, 300_000, [0.0])
    (own,) = [await translated(store, 150_000 - ENTRY_BYTES, "a")]
    others = [await translated(store, 65_000 - ENTRY_BYTES, "b") for _ in range(2)]
    assert await translated(store, 230_000 - ENTRY_BYTES, "c") is None
    assert await has(store, *map(str, (own, *others))) == [True] * 3


@pytest.mark.parametrize("num_files", [20, 200])
@pytest.mark.parametrize("is_expiry", [False, True])
async def test_dropping_many_files_takes_linear_time_and_leaves_the_disk_to_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_files: int, is_expiry: bool
) -> None:
    now, reads, threads = [0.0], Counter[str](), set[int]()
    store = store_in(tmp_path, num_files * ENTRY_BYTES, now)
    names = [await translated(store, 0) for _ in range(num_files)]
    file = sent()
    await store.add(file)
    has_ended, remove = StoredFile.has_ended.fget, Spool.remove

    def read(one: StoredFile) -> Any:
        reads[one.name] += 1
        return has_ended(one)  # type: ignore[misc]

    def removed(spool: Spool, *names: str) -> None:
        threads.add(threading.get_ident())
        remove(spool, *names)

    monkeypatch.setattr(StoredFile, "has_ended", property(read))
    monkeypatch.setattr(Spool, "remove", removed)
    if is_expiry:
        now[0] = 601
        await store._drop_old()
    else:
        assert await store.keep(file.name, (num_files - 2) * ENTRY_BYTES)
    assert len(await asyncio.to_thread(os.listdir, tmp_path)) == (1 if is_expiry else 2)
    assert threads - {threading.get_ident()} == threads != set()
    assert max(reads[str(name)] for name in names) <= 5


@pytest.mark.parametrize("owner", ["", "an id"])
async def test_no_address_is_on_the_disk_and_a_restart_knows_whose_a_key_s_file_is(
    tmp_path: Path, owner: str
) -> None:
    address = "address/192.0.2.7"
    file = dataclasses.replace(sent(), owner=owner, client=f"key/{owner}" if owner else address)
    store = store_in(tmp_path, 10**6, [0.0])
    await store.add(file)
    await store.finish(file.name, "en")
    contents = await asyncio.to_thread(lambda: [one.read_bytes() for one in tmp_path.iterdir()])
    assert len(contents) == 1
    assert b"192.0.2.7" not in contents[0]
    restarted = store_in(tmp_path, 10**6, [0.0])
    async with restarted.running():
        found = await restarted.find(file.name)
        assert found is not None
        assert (found.owner, found.client) == (owner, file.client if owner else "")


async def test_a_file_whose_record_cannot_be_written_is_not_taken(tmp_path: Path) -> None:
    """A restart would forget it."""
    store = store_in(tmp_path / "missing", 10**6, [0.0], max_files=2)
    for file in (sent(), sent(), sent()):
        assert await store.add(file) == "unwritten"
        assert await has(store, file.name) == [False]


async def test_a_translation_without_room_is_not_kept_and_costs_nobody_another(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path, 4 * ENTRY_BYTES, [0.0])
    name = await translated(store, 7)
    assert name is not None
    for client in ("address/1", "address/2"):
        assert await translated(store, 5 * ENTRY_BYTES, client) is None
        assert await has(store, name) == [True]


async def test_what_is_dropped_leaves_the_disk_though_the_system_has_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    store = store_in(tmp_path, 2 * ENTRY_BYTES, [0.0])
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        first, second = await translated(store, 0), await translated(store, ENTRY_BYTES)
    assert first is not None
    assert second is not None
    assert [path.name for path in tmp_path.iterdir()] == [f"{second}.json"]


async def test_failed_files_are_bounded_too(tmp_path: Path) -> None:
    store, files = store_in(tmp_path, 4 * ENTRY_BYTES, [0.0]), [sent() for _ in range(9)]
    for file in files:
        assert await store.add(file) == "taken"
        store.fail(file.name, *FILE_LOST)
    assert await has(store, *(file.name for file in files)) == [False] * 5 + [True] * 4
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("is_removed", [True, False])
async def test_news_of_a_file_that_is_gone_or_has_ended_change_nothing(
    tmp_path: Path, is_removed: bool
) -> None:
    """Who works on it, or removes it too, does not know yet."""
    store, spool = store_in(tmp_path, 10**6, [0.0]), Spool(tmp_path)
    name = await translated(store, 7)
    assert name is not None
    spool.write_translated(name, b"Ein Tag")
    if is_removed:
        store.remove(name)
    before = await store.find(name)
    store.progress(name, 1, 2)
    assert not await store.keep(name, 9)
    store.fail(name, *FILE_LOST)
    await store.finish(name, "de")
    assert await store.find(name) == before
    assert (tmp_path / f"{name}.translated").exists() is not is_removed
    store.remove(name)
    store.remove(name)
    assert not list(tmp_path.iterdir())


async def test_a_client_cannot_take_all_the_room(tmp_path: Path) -> None:
    """Neither by the number of its files nor by their bytes, and none is accepted beyond all."""
    for most in (1, 2):
        store = store_in(tmp_path, 800_000, [0.0], most)
        assert [await store.add(sent(0, client)) for client in "aab"] == [
            "taken",
            *(["full"] * 2 if most == 1 else ["own_full", "taken"]),
        ]
    for size, max_files in ((0, 8), (100_000 - ENTRY_BYTES, 100)):
        store = store_in(tmp_path, 800_000, [0.0], max_files)
        rooms = [await store.add(sent(size, "a")) for _ in range(8)]
        assert rooms == ["taken"] * 6 + ["own_full"] * 2
        rooms = [await store.add(sent(size, client)) for client in "bcd"]
        assert rooms == ["taken", "taken", "full"]


class Files(RuleBasedStateMachine):
    """Files that are sent, translated, failed, fetched and removed, by processes that die."""

    max_bytes, max_files = 200_000, 6

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path, self.now = Path(self.directory.name), [0.0]
        self.loop, self.names = asyncio.new_event_loop(), itertools.count()
        self.open: dict[str, StoredFile] = {}
        self.ended: dict[str, str] = {}
        """The names of what has ended and was not removed, and their clients."""
        self.begin()

    def begin(self) -> None:
        self.spool = Spool(self.path)
        self.store = store_in(self.path, self.max_bytes, self.now, self.max_files)
        self.cancelled: list[str] = []
        self.store.follow(self.cancelled.append)
        self.work = self.store.running()
        self.run(self.work.__aenter__())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    @rule(client=st.sampled_from("abc"), size=st.integers(0, 60_000))
    def send(self, client: str, size: int) -> None:
        file = dataclasses.replace(sent(size, client), name=f"{next(self.names):048x}")
        room = self.run(self.store.add(file))
        own = sum(one.client == client for one in self.open.values())
        assert room == "taken" or self.open
        assert room != "own_full" or own
        if room == "taken":
            self.spool.write_sent(file.name, client.encode() * size)
            self.open[file.name] = file

    @precondition(lambda self: self.open)
    @rule(data=st.data(), size=st.integers(0, 250_000))
    def translate(self, data: st.DataObject, size: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.open)))
        file = self.open.pop(name)
        self.store.progress(name, 1, 2)
        if self.run(self.store.keep(name, size)):
            self.spool.write_translated(name, name.encode()[:1] * size)
            self.run(self.store.finish(name, "en"))
        else:
            self.store.fail(name, "storage_failed", "no room")
        self.ended[name] = file.client

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        """The process that has the file in work."""
        name = data.draw(st.sampled_from(sorted(self.open)))
        self.store.fail(name, *FILE_LOST)
        self.ended[name] = self.open.pop(name).client

    @precondition(lambda self: self.open or self.ended)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted([*self.open, *self.ended])))
        was_open = self.open.pop(name, None) is not None
        self.ended.pop(name, None)
        self.cancelled.clear()
        self.store.remove(name)
        assert self.cancelled == [name] * was_open

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def finish_what_was_removed(self, data: st.DataObject) -> None:
        """It is written after its removal."""
        name = data.draw(st.sampled_from(sorted(self.open)))
        del self.open[name]
        self.store.remove(name)
        assert not self.run(self.store.keep(name, 10))
        self.spool.write_translated(name, b"too late")
        self.run(self.store.finish(name, "en"))

    @rule()
    def restart(self) -> None:
        """The store, as after a kill: the directory is what is left."""
        self.run(self.work.__aexit__(None, None, None))
        self.begin()
        self.ended |= {name: file.client for name, file in self.open.items()}
        self.open.clear()

    @rule(seconds=st.sampled_from([1, 500]))
    def wait(self, seconds: int) -> None:
        self.now[0] += seconds

    @invariant()
    def each_has_ended_or_is_open_and_is_its_client_s(self) -> None:
        for name, file in self.open.items():
            found = self.run(self.store.find(name))
            assert found is not None
            assert (found.state in ("queued", "translating"), found.client) == (True, file.client)
            assert self.spool.read_sent(name) == file.client.encode() * file.num_sent_bytes
        for name, client in list(self.ended.items()):
            if (found := self.run(self.store.find(name))) is None:  # old, or there was no room
                del self.ended[name]
                continue
            assert found.client == client
            assert (found.state == "done") != (found.error is not None)
            if found.state == "done":
                with self.spool.open_translated(name) as translated:
                    assert translated.read() == name.encode()[:1] * found.num_bytes

    @invariant()
    def the_disk_has_what_may_be_there(self) -> None:
        sizes: dict[str, int] = {}
        for path in self.path.glob("*.*"):
            sizes[path.suffix] = sizes.get(path.suffix, 0) + path.stat().st_size
            assert path.suffix != ".sent" or path.stem in self.open
        assert sizes.keys() <= {".sent", ".translated", ".json"}
        assert sizes.get(".sent", 0) <= self.max_bytes
        assert sizes.get(".translated", 0) <= self.max_bytes
        assert len(self.open) <= self.max_files

    def teardown(self) -> None:
        self.run(self.work.__aexit__(None, None, None))
        self.loop.close()
        self.directory.cleanup()


TestFiles = Files.TestCase
TestFiles.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_what_is_not_of_a_server_stays(tmp_path: Path) -> None:
    """The directory may be that of the database, or have files of people."""
    own = [sent(0, "a").name for _ in range(2)]
    others = ["server.sqlite", "server.sqlite-wal", "a.json", "report.docx", f"{own[0]}x.sent"]
    for name in (*others, f"{own[0]}.sent", f"{own[1]}.json.part"):
        (tmp_path / name).write_text("what cannot be made again")
    with Spool(tmp_path).opened():
        assert not list(Spool(tmp_path).read_records())
    assert {path.name for path in tmp_path.iterdir()} == {*others, "lock"}


def test_a_directory_is_one_server_s(tmp_path: Path) -> None:
    with Spool(tmp_path).opened(), pytest.raises(BlockingIOError):
        Spool(tmp_path).check()
    Spool(tmp_path).check()
    assert tmp_path.is_dir()


@pytest.mark.parametrize("name", ["given", "elsewhere/dragoman-files-1"])
def test_a_directory_that_was_given_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Though it is where temporary ones are, or is named as they are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spool(tmp_path / name).opened():
        Spool(tmp_path / name).write_sent("a", b"")
    assert (tmp_path / name / "a.sent").exists()


def test_temporary_directories_end_with_their_server_or_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other, left = Spool.temporary(), Spool.temporary()
    left.mkdir()
    (left / "lock").touch()
    (left / "a.sent").touch()
    os.utime(left, (time.time() - 100,) * 2)
    other.mkdir()
    (other / "a.sent").touch()  # of the same server, one of whose processes was killed
    os.utime(other, (time.time() - 100,) * 2)
    with Spool(other).opened():
        assert not left.exists()
        shutil.rmtree(other)  # as what cleans old files does
        Spool(other).write_sent("a", b"")
        assert (other / "a.sent").exists()
        os.utime(other, (time.time() - 100,) * 2)
        with Spool(Spool.temporary()).opened():
            assert other.is_dir()
            assert len(list(tmp_path.iterdir())) == 2
    assert not list(tmp_path.iterdir())


def test_an_old_temporary_directory_stays_while_its_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    running = Spool.temporary()
    with Spool(running).opened():
        Spool(running).write_sent("a", b"Ein Tag")
        os.utime(running, (time.time() - 100,) * 2)
        with Spool(Spool.temporary()).opened():
            assert Spool(running).read_sent("a") == b"Ein Tag"
