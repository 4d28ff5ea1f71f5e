"""Every fault with the promise that it tries, in the order of the docs."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.faults import clients, ends, resources, surroundings
from benchmarks.faults.bench import Bench, Fault, References, Seen, bench, under_load
from benchmarks.process import HOST
from benchmarks.soak.run import Keys
from benchmarks.soak.scene import Result, Writers
from benchmarks.soak.wire import Writer

_FAILING = "benchmarks.faults.failing_server"
_UNREAD_TESTS = (
    "tests/end_to_end/test_server.py"
    "::test_a_client_that_never_reads_holds_up_nobody_and_gathers_no_memory",
    "tests/service/http/protocols/test_http.py"
    "::test_an_answer_that_nobody_reads_ends_the_connection",
)
_CLOCK_TEST = (
    "tests/service/http/access/test_windows.py::test_a_clock_that_is_moved_locks_nobody_out"
)


@dataclass(frozen=True)
class Stage:
    """What a fault is run with: references, a directory and a database of its own, keys."""

    references: References
    directory: Path
    database: Path
    keys: Keys

    @classmethod
    def make(cls, references: References, directory: Path, disk: Path | None = None) -> Stage:
        database = (disk or directory) / "server.db"
        return cls(references, directory, database, Keys.make(database))

    @property
    def arguments(self) -> list[str]:
        return ["--database", str(self.database), "--api-keys", "required", "--cache-bytes", "0"]


Run = Callable[[References, Path], Awaitable[Seen]]


@dataclass(frozen=True)
class Promise:
    """`name`: for --only; `words`: what is promised; `fault`: what is done to the server; `tests`:
    those that hold the same in seconds, as file::function."""

    name: str
    words: str
    fault: str
    run: Run
    tests: tuple[str, ...] = ()


def _plain(fault: Fault, arguments: Sequence[str] = (), *also: Result, logs: bool = True) -> Run:
    """The fault under load, on a server with these arguments. `logs`: no error may be logged."""

    async def run(references: References, directory: Path) -> Seen:
        stage = Stage.make(references, directory)
        given = [*stage.arguments, *arguments]
        async with bench(references, directory, given, stage.keys.plain) as made:
            seen = await under_load(made, fault, *also)
            if logs:
                made.check_log()
            return seen

    return run


async def _sigterm_once(references: References, directory: Path) -> Seen:
    stage = Stage.make(references, directory)
    given = [*stage.arguments, "--drain-seconds", "300"]
    async with bench(references, directory, given, stage.keys.plain) as made:
        await ends.sigterm_once(made, stage.database, stage.keys.plain)
        return made.seen


def _at_once(*signals: signal.Signals) -> Run:
    async def run(references: References, directory: Path) -> Seen:
        stage = Stage.make(references, directory)
        given = [*stage.arguments, "--drain-seconds", "300"]
        async with bench(references, directory, given, stage.keys.plain) as made:
            await ends.end_at_once(made, stage.database, list(signals))
            return made.seen

    return run


async def _small_group(_: References, directory: Path) -> Seen:
    seen = Seen()
    code, said = await ends.start_in_small_group(directory, 400)
    seen.require(code == 2, f"ended with {code}")
    seen.require(len(said.splitlines()) == 1, f"said {said[-300:]!r}")
    seen.facts.append(f"400 MiB: exit code {code}, {said.strip()!r}")
    return seen


def _failing(fault: Callable[[Bench, Path], Awaitable[None]], *also: Result) -> Run:
    async def run(references: References, directory: Path) -> Seen:
        stage, faults = Stage.make(references, directory), directory / "faults"
        faults.mkdir()
        environment = {"FAULTS": str(faults)}
        async with bench(
            references,
            directory,
            stage.arguments,
            stage.keys.plain,
            environment=environment,
            module=_FAILING,
        ) as made:
            return await under_load(made, lambda one: fault(one, faults), *also)

    return run


async def _not_finite(references: References, directory: Path) -> Seen:
    stage = Stage.make(references, directory)
    token, text = surroundings.rare_token()
    environment = {"FAULTS": str(directory), "FAULTS_TOKEN": str(token)}
    async with bench(
        references,
        directory,
        stage.arguments,
        stage.keys.plain,
        environment=environment,
        module=_FAILING,
    ) as made:
        return await under_load(made, lambda one: surroundings.meet_non_finite_scores(one, text))


async def _redis(references: References, directory: Path) -> Seen:
    stage, redis = Stage.make(references, directory), surroundings.Redis(directory)
    given = [*stage.arguments, "--limits-url", redis.url, "--requests-per-minute", "1000000"]
    try:
        async with bench(references, directory, given, stage.keys.plain) as made:
            return await under_load(made, lambda one: surroundings.cut_redis(one, redis))
    finally:
        redis.stop()


def _clock(library: str) -> Run:
    async def run(references: References, directory: Path) -> Seen:
        stage, file = Stage.make(references, directory), directory / "clock"
        surroundings.write_clock(file, "+0")
        environment = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        key = stage.keys.plain
        async with bench(
            references, directory, stage.arguments, key, environment=environment
        ) as made:
            writer = Writer(HOST, made.server.port, stage.keys.limited)
            limited = replace(made.scene, writers=Writers(writer, writer, writer))
            seen = await under_load(made, lambda one: surroundings.move_clock(one, file, limited))
            made.check_log()
            return seen

    return run


async def _full_disk(references: References, directory: Path) -> Seen:
    with resources.small_disk(directory) as disk:
        stage = Stage.make(references, directory, disk)
        key = stage.keys.plain
        async with bench(references, directory, stage.arguments, key) as made:
            return await under_load(
                made, lambda one: surroundings.fill_disk(one, stage.database, key, disk)
            )


def promises(faketime: str | None) -> list[Promise]:
    """`faketime`: the path of libfaketime, without which the clock is not moved."""
    sigterm, sigkill = signal.SIGTERM, signal.SIGKILL
    every = [
        Promise(
            "kill-clients",
            "A client that vanishes takes its work along: no slot, row or connection is left.",
            "120 clients reset amid streams, websockets, uploads and bodies",
            _plain(clients.kill_clients),
            ("tests/end_to_end/test_server.py::test_a_client_that_hangs_up_frees_its_slots",),
        ),
        Promise(
            "stall-readers",
            "A reader that never reads is dropped, and holds up nobody.",
            "answers of 9 MB as events, JSON, download and websocket messages, never read",
            _plain(clients.stall_readers, clients.ROOMY),
            _UNREAD_TESTS,
        ),
        Promise(
            "slots",
            "A full server refuses with 503 and answers what it took.",
            "600 long requests, 200 at a time, for a queue of 32 sentences",
            _plain(resources.exhaust_slots, resources.NARROW, Result.REFUSED),
        ),
        Promise(
            "descriptors",
            "Without descriptors no new client is let in; those that are stay served.",
            "RLIMIT_NOFILE 12 above what is open, 200 connections",
            _plain(resources.exhaust_descriptors),
            (
                "tests/end_to_end/test_faults.py::test_without_descriptors_clients_that_are_in_are_served_and_others_later",
            ),
        ),
        Promise(
            "threads",
            "Without new threads and processes texts are translated; files are refused.",
            "a control group with pids.max at what runs, 40 files, 40 glossaries",
            _plain(resources.exhaust_threads, logs=False),
            (
                "tests/service/http/test_exhaustion.py::test_a_failure_of_the_machine_is_told_from_one_of_the_server",
            ),
        ),
        Promise(
            "memory",
            "What does not fit into memory fails alone.",
            "RLIMIT_AS 48 MiB above what is mapped, 24 files of 9 MB",
            _plain(resources.exhaust_memory, (), Result.REFUSED, logs=False),
            (
                "tests/service/http/test_exhaustion.py::test_a_file_that_needs_more_memory_than_there_is_gets_503",
            ),
        ),
        Promise(
            "small-group",
            "A server whose slots cannot fit into its container does not start, and says so.",
            "a memory control group of 400 MiB",
            _small_group,
        ),
        Promise(
            "disk",
            "Texts are translated when the disk is full; usage is stored later.",
            "a file system of 1 MiB for the database, filled",
            _full_disk,
            (
                "tests/end_to_end/test_faults.py::test_with_a_full_disk_texts_are_translated_and_usage_is_stored_later",
            ),
        ),
        Promise(
            "redis",
            "Without Redis each server counts limits for itself; nobody is refused for it.",
            "a real redis-server killed, restarted, stopped",
            _redis,
            (
                "tests/deploy/redis_limits.py::test_without_redis_each_server_counts_for_itself_and_answers",
            ),
        ),
        Promise(
            "steps",
            "A failing step fails its sentences and nothing else.",
            "six injected exceptions in steps and admissions of the engines",
            _failing(surroundings.fail_steps, Result.UNEXPECTED, Result.WRONG),
            (
                "tests/service/engine/test_faults.py::test_one_fault_anywhere_leaves_no_request_without_an_answer",
            ),
        ),
        Promise(
            "not-finite",
            "A sentence whose scores are not finite fails alone.",
            "an embedding of NaN, 30 sentences that have it among others",
            _not_finite,
            (
                "tests/model/decoding/test_search.py::test_a_sentence_whose_scores_are_not_finite_fails_alone",
            ),
        ),
        Promise(
            "sigterm",
            "SIGTERM: every admitted request is answered, new work is refused, exit code 0.",
            "180 texts, streams and websocket requests and 4 files under way",
            _sigterm_once,
            (
                "tests/end_to_end/test_server.py::test_sigterm_finishes_running_work_refuses_new_work_and_ends_with_0",
            ),
        ),
        Promise(
            "sigterm-twice",
            "The second SIGTERM ends the process at once; the database is whole.",
            "SIGTERM twice under load",
            _at_once(sigterm, sigterm),
            (
                "tests/end_to_end/test_signals.py::test_a_second_signal_ends_a_working_server_at_once_and_by_that_signal",
            ),
        ),
        Promise(
            "sigkill",
            "A crash leaves a whole database, and the next server starts with it.",
            "SIGKILL under load",
            _at_once(sigkill),
            (
                "tests/end_to_end/test_faults.py::test_a_killed_server_leaves_a_whole_database_for_the_next",
            ),
        ),
    ]
    if faketime is not None:
        words = "The date decides about nothing but keys, months and minutes of limits."
        fault = "libfaketime: a day ahead, a day back, 40 days ahead, home"
        tests = (_CLOCK_TEST,)
        every.insert(9, Promise("clock", words, fault, _clock(faketime), tests))
    return every
