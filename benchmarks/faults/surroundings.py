"""Faults of what the server stands on: the disk, Redis and the clock."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.faults.bench import Bench, References, Seen, repeated
from benchmarks.faults.promise import Promise, Run, Setup, under_load
from benchmarks.process import HOST
from benchmarks.soak.keys import counted_usage
from benchmarks.soak.scene import Result, Scene, Writers
from benchmarks.soak.translations import over_json
from benchmarks.soak.wire import Writer

_REDIS_SECONDS = 4.0
_OFFSETS = ("+1d", "-1d", "+40d", "+0")
_OFFSET_SECONDS = 3.0
_STORED_SECONDS = 3.0
_DISK_BYTES = 2**20


class Redis:
    """A redis-server on a free port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with socket.create_server((HOST, 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", HOST, "--save", ""]
        self.process = subprocess.Popen(
            command, cwd=self._directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10
        while socket.socket().connect_ex((HOST, self.port)):
            if time.monotonic() > deadline:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


async def cut_redis(bench: Bench, redis: Redis) -> None:
    """Redis ends, comes back, and then stops answering; limits are counted meanwhile."""
    redis.stop()
    await asyncio.sleep(_REDIS_SECONDS)
    redis.start()
    await asyncio.sleep(_REDIS_SECONDS)
    redis.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(_REDIS_SECONDS)
    redis.process.send_signal(signal.SIGCONT)
    bench.seen.facts.append("killed, restarted, then stopped for 4 s")


def write_clock(file: Path, offset: str) -> None:
    """For libfaketime."""
    scratch = file.with_suffix(".new")
    scratch.write_text(f"{offset}\n")
    os.replace(scratch, file)


async def move_clock(bench: Bench, file: Path, limited: Scene) -> None:
    """The date jumps by a day ahead, back, into another month, and home."""
    for offset in _OFFSETS:
        write_clock(file, offset)
        await asyncio.sleep(_OFFSET_SECONDS)
        ends = await repeated(4, 1, over_json("short"), limited)
        allowed = {Result.RIGHT, Result.LIMITED}
        bench.seen.require(set(ends) <= allowed, f"a limited key was answered {ends}")
    bench.seen.facts.append(f"moved by {', '.join(_OFFSETS)}")


async def fill_disk(bench: Bench, database: Path, key: str, disk: Path) -> None:
    """Nothing can be stored for some seconds; usage is stored afterwards."""
    filler = _fill(disk)
    ends = await repeated(10, 2, _store_a_glossary, bench.scene)
    others = set(ends) - {Result.RIGHT, Result.REFUSED}
    bench.seen.require(not others, f"other ends: {others}, {bench.problems[:1]}")
    unanswered = bench.tally.total(Result.RIGHT)
    await asyncio.sleep(_STORED_SECONDS)
    stored = counted_usage(database, key)
    filler.unlink()
    await asyncio.sleep(_STORED_SECONDS)
    later = counted_usage(database, key)
    bench.seen.require(later > stored, "usage was not stored after the disk had room again")
    bench.seen.require(later >= unanswered, f"{later} of {unanswered} answers are stored")
    refused = len(ends) - ends.count(Result.RIGHT)
    bench.seen.facts.append(
        f"{refused} of {len(ends)} glossaries refused with 503; usage {stored}, later {later}"
    )


async def _store_a_glossary(scene: Scene) -> Result:
    entries = [{"source": f"term {number}", "target": "x" * 100} for number in range(500)]
    fields = {"source": "en", "target": "de", "entries": entries}
    path = f"/glossaries/{scene.rng.randrange(10**9)}"
    answer = await scene.pool.send(scene.writers.plain.json(path, fields, "PUT"))
    return (
        Result.RIGHT if answer.status == 201 else scene.judge("full disk", answer) or Result.RIGHT
    )


@contextlib.contextmanager
def _small_disk(directory: Path) -> Iterator[Path]:
    """A file system of a mebibyte."""
    disk = directory / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs"]
    subprocess.run(["mount", *options, str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(disk: Path) -> Path:
    """-> the file that takes all the room."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


async def _run_full_disk(references: References, directory: Path) -> Seen:
    with _small_disk(directory) as disk:
        setup = Setup.make(references, directory, disk)
        database, key = setup.database, setup.keys.plain
        async with setup.bench() as bench:
            return await under_load(bench, lambda one: fill_disk(one, database, key, disk))


async def _run_redis(references: References, directory: Path) -> Seen:
    setup, redis = Setup.make(references, directory), Redis(directory)
    arguments = ["--limits-url", redis.url, "--requests-per-minute", "1000000"]
    try:
        async with setup.bench(arguments) as bench:
            return await under_load(bench, lambda one: cut_redis(one, redis))
    finally:
        redis.stop()


def _moving_clock(library: str) -> Run:
    async def run(references: References, directory: Path) -> Seen:
        setup, file = Setup.make(references, directory), directory / "clock"
        write_clock(file, "+0")
        environment = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        async with setup.bench(environment=environment) as bench:
            writer = Writer(HOST, bench.server.port, setup.keys.limited)
            limited = replace(bench.scene, writers=Writers(writer, writer, writer))
            seen = await under_load(bench, lambda one: move_clock(one, file, limited))
            bench.check_log()
            return seen

    return run


PROMISES = (
    Promise(
        "disk",
        "Texts are translated when the disk is full; usage is stored later.",
        "a file system of 1 MiB for the database, filled",
        _run_full_disk,
        (
            "tests/end_to_end/test_faults.py::test_with_a_full_disk_texts_are_translated_and_usage_is_stored_later",
        ),
    ),
    Promise(
        "redis",
        "Without Redis each server counts limits for itself; nobody is refused for it.",
        "a real redis-server killed, restarted, stopped",
        _run_redis,
        (
            "tests/deploy/redis_limits.py::test_without_redis_each_server_counts_for_itself_and_answers",
        ),
    ),
)


def clock_promise(library: str) -> Promise:
    """`library`: the path of libfaketime."""
    return Promise(
        "clock",
        "The date decides about nothing but keys, months and minutes of limits.",
        "libfaketime: a day ahead, a day back, 40 days ahead, home",
        _moving_clock(library),
        ("tests/service/http/access/test_windows.py::test_a_clock_that_is_moved_locks_nobody_out",),
    )
