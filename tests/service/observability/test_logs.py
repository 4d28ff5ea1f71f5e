"""A traceback in the log says what broke and where, but never a word that may be a client's; and
nobody waits for the log."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from select import PIPE_BUF
from typing import Any

import pytest

from service.observability.logs import (
    QueuedStream,
    UnqueuedStream,
    configure_logs,
    num_dropped,
)

SECRET = "sesame"


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


def test_on_a_terminal_the_log_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "text", sys.stderr)
    logging.getLogger("x").info("up", extra={"port": 8000})
    assert "up" in (line := capsys.readouterr().err)
    assert "port=8000" in line
    assert not line.startswith("{")


def test_requests_to_a_hub_are_no_lines_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json", sys.stderr)
    logging.getLogger("httpx2").info("HTTP Request: GET https://example.org")
    logging.getLogger("httpx2").warning("odd")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["odd"]


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
    assert len(events) == 20_000 - dropped
    assert events == sorted(set(events))


def test_lines_that_come_together_are_written_together_in_whole_lines() -> None:
    """Each write wakes a thread that wants Python's lock; a pipe takes so much in one piece."""
    reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reader, writer:
        stream = QueuedStream(writer.fileno())
        lines = [f"{number:>{10 + number % 700}}\n" for number in range(40)]
        lines.insert(20, "x" * PIPE_BUF + "\n")
        for line in lines:
            stream.write(line)
        stream.close()
        writer.shutdown(socket.SHUT_WR)
        written = list(iter(lambda: reader.recv(3 * PIPE_BUF), b""))
    assert b"".join(written).decode() == "".join(lines)
    assert all(one.endswith(b"\n") for one in written)
    assert all(len(one) <= PIPE_BUF or one.count(b"\n") == 1 for one in written)
    assert len(written) < len(lines) / 2


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


def test_a_process_of_one_thread_drops_lines_that_nobody_reads_and_waits_for_none() -> None:
    reading, writing = os.pipe()
    stream = UnqueuedStream(writing)
    stream.write("first\n")
    for _ in range(10_000):
        stream.write(f"{'x' * 1000}\n")
    assert os.read(reading, 2**20).startswith(b"first\nxxx")
    stream.write("last\n")
    assert os.read(reading, 2**20) == b"last\n"
    os.close(reading)
    stream.write("for nobody\n")
    os.close(writing)
