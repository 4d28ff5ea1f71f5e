"""A traceback in the log says what broke and where, but never a word that may be a client's; and
nobody waits for the log."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from service.observability.logs import (
    LOGGERS_WITHOUT_TEXTS,
    QueuedStream,
    configure_logs,
    num_dropped,
)
from service.server import log_unforeseen

SECRET = "sesame"


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root, loop_logger = logging.getLogger(), logging.getLogger("asyncio")
    handlers, levels = list(root.handlers), (root.level, loop_logger.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    loop_logger.setLevel(levels[1])
    structlog.reset_defaults()


class Failure(Exception):
    pass


def fail_with_a_cause() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise Failure(SECRET) from error


def fail_as_a_group() -> None:
    raise ExceptionGroup(SECRET, [Failure(SECRET), ExceptionGroup(SECRET, [ValueError(SECRET)])])


def fail_with_notes() -> None:
    error = Failure(SECRET)
    error.add_note(SECRET)
    raise error


def log(logger: str, fail: Any) -> None:
    try:
        fail()
    except Exception:
        logging.getLogger(logger).exception("it failed")


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize("fail", [fail_with_a_cause, fail_as_a_group, fail_with_notes])
def test_an_exceptions_messages_are_left_out_but_not_its_types_and_places(
    fail: Any, log_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("debug", log_format, sys.stderr)
    log("anything", fail)
    logged = capsys.readouterr().err
    assert SECRET not in logged
    assert "Failure" in logged
    assert fail.__name__ in logged
    inner = {"fail_with_a_cause": "KeyError", "fail_as_a_group": "ValueError"}
    assert inner.get(fail.__name__, "") in logged


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize("logger", LOGGERS_WITHOUT_TEXTS)
def test_what_fails_in_an_engine_is_logged_with_its_message(
    logger: str, log_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_out_of_memory() -> None:
        raise MemoryError("3 GiB")

    assert importlib.util.find_spec(logger)
    configure_logs("info", log_format, sys.stderr)
    log(logger, run_out_of_memory)
    assert "3 GiB" in capsys.readouterr().err


def test_an_error_on_the_event_loop_is_logged_without_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def break_down(text: str) -> None:
        raise Failure(text)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(log_unforeseen)
        loop.call_soon(break_down, SECRET)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    configure_logs("debug", "json", sys.stderr)
    asyncio.run(scenario())
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert SECRET not in json.dumps(line)
    assert line["exception"][0]["exc_type"] == "Failure"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_log_that_nobody_reads_makes_nobody_wait_and_what_it_cannot_take_is_counted(
    pipe: tuple[int, int],
) -> None:
    reader, writer = pipe
    stream = QueuedStream(writer)
    configure_logs("info", "json", stream)
    for number in range(20_000):
        logging.getLogger("x").info("%s", number)
    dropped = num_dropped()
    assert dropped > 0
    ending = threading.Thread(target=stream.close)
    ending.start()
    received = b""
    while received.count(b"\n") < 20_000 - dropped:
        received += os.read(reader, 65_536)
    ending.join()
    events = [int(json.loads(line)["event"]) for line in received.splitlines()]
    assert events == list(range(20_000 - dropped))


def test_an_end_writes_what_waits_and_does_not_wait_for_a_reader(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    stream = QueuedStream(writer)
    stream.write("the last line\n")
    stream.close()
    assert os.read(reader, 100) == b"the last line\n"
    stuck = QueuedStream(writer)
    stuck.write("x" * 200_000)
    stuck.close()
    assert os.read(reader, 200_000) == b"x" * 65_536
    os.set_blocking(reader, False)
    with contextlib.suppress(BlockingIOError):
        while os.read(reader, 200_000):
            pass


def test_a_log_that_cannot_be_written_is_counted() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    stream = QueuedStream(descriptor)
    configure_logs("info", "json", stream)
    logging.getLogger("x").info("up")
    stream.close()
    os.close(descriptor)
    assert num_dropped() == 1
