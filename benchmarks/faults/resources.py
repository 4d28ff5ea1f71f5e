"""Faults of the machine: no slots, descriptors, threads, memory or disk left."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.faults.bench import Bench, repeated
from benchmarks.soak.others import translate_a_file
from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.translations import over_json

NARROW = ["--max-waiting-sentences", "32"]
_CROWD, _AT_ONCE = 600, 200
_SPARE_DESCRIPTORS, _CONNECTIONS, _HELD_SECONDS = 12, 200, 5.0
_SPARE_BYTES = 48 * 2**20
_PIDS = Path("/sys/fs/cgroup/pids")
_DISK_BYTES = 2**20


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
    """A file of nine megabytes, whose parsing takes several times that."""
    content = b"<p>" + b"<b>x</b> " * 1_000_000 + b"</p>"
    writer = scene.writers.plain
    fields = {"source": "en", "target": "de"}
    answer = await scene.pool.send(
        writer.multipart("/translate_file", fields, ("large.html", content))
    )
    return scene.judge("large file", answer) or Result.RIGHT


def _limit(bench: Bench, kind: int, soft: int) -> None:
    resource.prlimit(bench.server.pid, kind, (soft, resource.prlimit(bench.server.pid, kind)[1]))


@contextlib.contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """A file system of a mebibyte."""
    disk = directory / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs"]
    subprocess.run(["mount", *options, str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """-> the file that takes all the room."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler
