"""Faults of the machine: no slots, descriptors, threads or memory left."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.faults.bench import Bench, References, Seen, repeated
from benchmarks.faults.promise import Promise, loaded
from benchmarks.process import MODELS, server_process
from benchmarks.soak.others import translate_a_file
from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.translations import over_json

_NARROW = ["--max-waiting-sentences", "32"]
_CROWD, _AT_ONCE = 600, 200
_SPARE_DESCRIPTORS, _CONNECTIONS, _HELD_SECONDS = 12, 200, 5.0
_SPARE_BYTES = 48 * 2**20
_SMALL_MEBIBYTES = 300
_PIDS = Path("/sys/fs/cgroup/pids")


async def exhaust_slots(bench: Bench) -> None:
    """Far more sentences at once than slots and queue take."""
    ends = await repeated(_CROWD, _AT_ONCE, over_json("list", "paragraph"), bench.scene)
    refused = ends.count(Result.REFUSED)
    others = set(ends) - {Result.RIGHT, Result.REFUSED}
    bench.seen.require(refused > 0, "nobody was refused: the slots were not exhausted")
    bench.seen.require(not others, f"other ends: {others}")
    bench.seen.facts.append(f"{refused} of {_CROWD} refused with 503, the others right")


async def exhaust_descriptors(bench: Bench) -> None:
    """The server may open 12 descriptors more, and 200 clients connect."""
    held = sum(bench.process.descriptors().values())
    _limit(bench, resource.RLIMIT_NOFILE, held + _SPARE_DESCRIPTORS)
    before = psutil.Process(bench.server.pid).cpu_times().user
    clients = [socket.socket() for _ in range(_CONNECTIONS)]
    loop = asyncio.get_running_loop()
    address = (bench.pool.host, bench.pool.port)
    for client in clients:
        client.setblocking(False)
        await loop.sock_connect(client, address)
    await asyncio.sleep(_HELD_SECONDS)
    bench.seen.facts.append(f"{_CONNECTIONS} connections for {_SPARE_DESCRIPTORS} descriptors")
    bench.seen.require(
        sum(bench.process.descriptors().values()) >= held + _SPARE_DESCRIPTORS - 1,
        "the descriptors were not exhausted",
    )
    used = psutil.Process(bench.server.pid).cpu_times().user - before
    bench.seen.facts.append(f"{used / _HELD_SECONDS:.1f} cores meanwhile")
    for client in clients:
        client.close()


async def exhaust_threads(bench: Bench) -> None:
    """A control group that lets the server start neither threads nor processes."""
    with _control_group(bench.server.pid) as group:
        now = int((group / "pids.current").read_text())
        (group / "pids.max").write_text(str(now))
        ends = await repeated(40, 8, translate_a_file, bench.scene)
        ends += await repeated(40, 8, _list_glossaries, bench.scene)
        denied = int((group / "pids.events").read_text().split()[1])
    bench.seen.require(denied > 0, "nothing was denied: the threads were not exhausted")
    wrong = ends.count(Result.WRONG) + ends.count(Result.LOST)
    bench.seen.require(not wrong, f"{wrong} wrong or lost")
    bench.seen.facts.append(f"{denied} starts denied, {ends.count(Result.RIGHT)} of 80 right")


async def _list_glossaries(scene: Scene) -> Result:
    """The database is read in a thread."""
    answer = await scene.pool.send(scene.writers.plain.request("GET", "/glossaries"))
    return scene.judge("glossaries", answer) or Result.RIGHT


@contextlib.contextmanager
def _control_group(pid: int) -> Iterator[Path]:
    """A group of the process, which returns to the one above at the end."""
    group = _PIDS / f"dragoman-faults-{pid}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield group
    finally:
        for child in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):  # it has ended
                (_PIDS / "cgroup.procs").write_text(child)
        with contextlib.suppress(OSError):  # ended processes may still be in it
            group.rmdir()


async def exhaust_memory(bench: Bench) -> None:
    """The server may map 48 MiB more, and files and long texts ask for more than that."""
    mapped = psutil.Process(bench.server.pid).memory_info().vms
    _limit(bench, resource.RLIMIT_AS, mapped + _SPARE_BYTES)
    ends = await repeated(24, 12, _upload_much, bench.scene)
    _limit(bench, resource.RLIMIT_AS, resource.RLIM_INFINITY)
    bench.seen.require(bench.server.popen.poll() is None, "the server died")
    refused = ends.count(Result.REFUSED)
    bench.seen.require(refused > 0, "nothing failed: the memory was not exhausted")
    others = set(ends) - {Result.RIGHT, Result.REFUSED}
    bench.seen.require(not others, f"other ends: {others}, {bench.problems[:1]}")
    bench.seen.facts.append(f"{refused} of {len(ends)} large files refused with 503")


async def _upload_much(scene: Scene) -> Result:
    """A file of nine megabytes, which the server holds two to three times."""
    content = b'["Hello."' + b" " * 9_000_000 + b"]"
    writer = scene.writers.plain
    fields = {"source": "en", "target": "de"}
    answer = await scene.pool.send(
        writer.multipart("/translate_file", fields, ("large.json", content))
    )
    return scene.judge("large file", answer) or Result.RIGHT


def _limit(bench: Bench, kind: int, soft: int) -> None:
    resource.prlimit(bench.server.pid, kind, (soft, resource.prlimit(bench.server.pid, kind)[1]))


async def _start_in_small_group(directory: Path, mebibytes: int) -> tuple[int, str]:
    """A server whose control group has too little memory -> how it ended, what it said."""
    group = Path("/sys/fs/cgroup/memory/dragoman-faults")
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(mebibytes * 2**20))
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        with server_process(directory / "small.log", prefix=enter, models=MODELS) as server:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(server.popen.wait, 60)
            code = server.popen.poll()
            return (-1000 if code is None else code), server.log.read_text()
    finally:
        await asyncio.sleep(0.5)
        group.rmdir()


async def _run_small_group(_: References, directory: Path) -> Seen:
    seen = Seen()
    code, said = await _start_in_small_group(directory, _SMALL_MEBIBYTES)
    seen.require(code == 2, f"ended with {code}")
    seen.require(len(said.splitlines()) == 1, f"said {said[-300:]!r}")
    seen.facts.append(f"{_SMALL_MEBIBYTES} MiB: exit code {code}, {said.strip()!r}")
    return seen


PROMISES = (
    Promise(
        "slots",
        "A full server refuses with 503 and answers what it took.",
        "600 long requests, 200 at a time, for a queue of 32 sentences",
        loaded(exhaust_slots, _NARROW, Result.REFUSED),
    ),
    Promise(
        "descriptors",
        "Without descriptors no new client is let in; those that are stay served.",
        "RLIMIT_NOFILE 12 above what is open, 200 connections",
        loaded(exhaust_descriptors),
        (
            "tests/end_to_end/test_faults.py::test_without_descriptors_clients_that_are_in_are_served_and_others_later",
        ),
    ),
    Promise(
        "threads",
        "Without new threads and processes texts are translated; files are refused.",
        "a control group with pids.max at what runs, 40 files, 40 glossaries",
        loaded(exhaust_threads, logs=False),
        (
            "tests/service/http/test_exhaustion.py::test_a_failure_of_the_machine_is_told_from_one_of_the_server",
        ),
    ),
    Promise(
        "memory",
        "What does not fit into memory fails alone.",
        "RLIMIT_AS 48 MiB above what is mapped, 24 files of 9 MB",
        loaded(exhaust_memory, (), Result.REFUSED, logs=False),
        (
            "tests/service/http/test_exhaustion.py::test_a_file_that_no_process_can_be_started_for_gets_503",
            "tests/service/http/protocols/test_received.py::test_a_connection_whose_first_bytes_find_no_memory_gets_503",
            "tests/service/http/protocols/test_refusing.py::test_an_early_answer_is_not_lost_when_the_rest_of_the_body_finds_no_memory",
        ),
    ),
    Promise(
        "small-group",
        "A server whose slots cannot fit into its container does not start, and says so.",
        "a memory control group of 300 MiB",
        _run_small_group,
    ),
)
