"""How a loaded server ends: SIGTERM once, twice, SIGKILL; what becomes of requests and database."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import time
from pathlib import Path

import httpx

from benchmarks.faults.bench import Bench, References, Seen, repeated
from benchmarks.faults.promise import Promise, Run, Setup
from benchmarks.process import server_process
from benchmarks.soak.keys import counted_usage
from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.translations import over_json, over_websocket
from benchmarks.soak.wire import EVENT_STREAM, Hangup

_WORK, _FILES = 150, 4
_CUT_OFF = 60  # paragraphs: fewer sentences than may wait, or the server would not be ready
_POLL_SECONDS, _STILL_SECONDS = 0.05, 1.0
_AT_ONCE_SECONDS = 10.0
_PATIENT = ["--drain-seconds", "300", "--cache-bytes", "0"]
"""Without the cache, so that there is work left when the signal comes."""


async def sigterm_once(bench: Bench, database: Path, key: str) -> None:
    """Admitted texts, streams, files and websocket requests are answered; new ones are refused."""
    scene, seen = bench.scene, bench.seen
    admitted = [
        asyncio.ensure_future(visit(scene))
        for visit in (
            *[over_json("paragraph", "list")] * _WORK,
            *[_to_the_end] * _WORK,
            *[over_websocket] * _WORK,
            *[_whole_file] * _FILES,
        )
    ]
    await _all_admitted(bench)
    bench.server.popen.send_signal(signal.SIGTERM)
    await _until_draining(bench)
    async with httpx.AsyncClient() as client:
        body = {"q": "Hello.", "source": "en", "target": "de"}
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{bench.server.url}/translate"
        refused = await client.post(url, json=body, headers=headers)
    seen.require(refused.status_code == 503, f"new work was answered {refused.status_code}")
    ends = await asyncio.gather(*admitted)
    bad = [str(end) for end in ends if end is not Result.RIGHT]
    seen.require(not bad, f"admitted requests ended {bad[:5]}, {bench.problems[:2]}")
    code = await asyncio.to_thread(bench.server.popen.wait, 60)
    seen.require(code == 0, f"exit code {code}")
    seen.require(_is_whole(database), "the database is damaged")
    stored = counted_usage(database, key)
    seen.require(stored >= len(ends), f"{stored} requests are stored of {len(ends)}")
    bench.check_log()
    seen.facts.append(f"{len(ends)} admitted requests answered, exit code {code}")


async def _to_the_end(scene: Scene) -> Result:
    case = scene.case("paragraph", "list")
    request = scene.writers.plain.json("/translate", dict(case.fields), Accept=EVENT_STREAM)
    answer = await scene.pool.send(request)
    return Result.RIGHT if b"event: final" in answer.body else Result.LOST


async def _whole_file(scene: Scene) -> Result:
    """A long file over LibreTranslate's route; its download must work before the end too."""
    document = next(one for one in scene.documents if one.name == "long.txt")
    fields = {"source": document.source, "target": document.target}
    file = (document.name, document.content)
    upload = scene.writers.plain.multipart("/translate_file", fields, file)
    answer = await scene.pool.send(upload)
    return scene.judge("file", answer) or Result.RIGHT


async def _all_admitted(bench: Bench) -> None:
    """Wait until every request was read: for some seconds the server holds no more sentences than
    before. The queue is long, so most still wait."""
    most, grown_seconds = 0.0, time.monotonic()
    while time.monotonic() < grown_seconds + _STILL_SECONDS:
        held = await _held(bench)
        if held > most:
            most, grown_seconds = held, time.monotonic()
        await asyncio.sleep(_POLL_SECONDS)


async def _held(bench: Bench) -> float:
    text = (await bench.pool.send(bench.writer.request("GET", "/metrics"))).body.decode()
    names = ("dragoman_running{", "dragoman_waiting{")
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(names))


async def _until_draining(bench: Bench) -> None:
    while await asyncio.to_thread(bench.server.is_ready):
        await asyncio.sleep(_POLL_SECONDS)


async def end_at_once(bench: Bench, database: Path, signals: list[signal.Signals]) -> None:
    """The signals end a busy server at once, by the last of them; its database is whole and the
    next server starts with it."""
    async with bench.loaded():
        work = [asyncio.create_task(_any_end(bench.scene)) for _ in range(_CUT_OFF)]
        while await _held(bench) < _CUT_OFF:
            await asyncio.sleep(_POLL_SECONDS)
        bench.server.popen.send_signal(signals[0])
        for number in signals[1:]:  # the system makes one of two that come at once
            await _until_draining(bench)
            bench.server.popen.send_signal(number)
        code = await asyncio.to_thread(bench.server.popen.wait, _AT_ONCE_SECONDS)
        await asyncio.gather(*work)
        bench.stop_clients()
    bench.seen.require(code == -signals[-1], f"exit code {code}")
    bench.seen.require(_is_whole(database), "the database is damaged")
    bench.seen.facts.append(f"ended by {signals[-1].name} at once, the database is whole")
    arguments = ["--database", str(database), "--api-keys", "required"]
    with server_process(bench.server.log.with_name("next.log"), arguments) as server:
        seconds = await asyncio.to_thread(server.wait_until_ready)
        server.stop()
    bench.seen.facts.append(f"the next one ready after {seconds:.1f} s")


async def _any_end(scene: Scene) -> None:
    with contextlib.suppress(OSError, Hangup):
        await repeated(1, 1, over_json("paragraph"), scene)


def _is_whole(database: Path) -> bool:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


async def _run_sigterm(references: References, directory: Path) -> Seen:
    setup = Setup.make(references, directory)
    async with setup.bench(_PATIENT) as bench:
        await sigterm_once(bench, setup.database, setup.keys.plain)
        return bench.seen


def _at_once(*signals: signal.Signals) -> Run:
    async def run(references: References, directory: Path) -> Seen:
        setup = Setup.make(references, directory)
        async with setup.bench(_PATIENT) as bench:
            await end_at_once(bench, setup.database, list(signals))
            return bench.seen

    return run


PROMISES = (
    Promise(
        "sigterm",
        "SIGTERM: every admitted request is answered, new work is refused, exit code 0.",
        "180 texts, streams and websocket requests and 4 files under way",
        _run_sigterm,
        (
            "tests/end_to_end/test_server.py::test_sigterm_finishes_running_work_refuses_new_work_and_ends_with_0",
        ),
    ),
    Promise(
        "sigterm-twice",
        "The second SIGTERM ends the process at once; the database is whole.",
        "SIGTERM twice under load",
        _at_once(signal.SIGTERM, signal.SIGTERM),
        (
            "tests/end_to_end/test_signals.py::test_a_second_signal_ends_a_working_server_at_once_and_by_that_signal",
        ),
    ),
    Promise(
        "sigkill",
        "A crash leaves a whole database, and the next server starts with it.",
        "SIGKILL under load",
        _at_once(signal.SIGKILL),
        (
            "tests/end_to_end/test_faults.py::test_a_killed_server_leaves_a_whole_database_for_the_next",
        ),
    ),
)
