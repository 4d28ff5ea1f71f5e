"""The server as a user meets it: a process with a port, the bundled models, real HTTP."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.sync.client import connect

from tests.end_to_end.process import (
    DRAGOMAN,
    ROOT,
    START_SECONDS,
    TEXTS,
    Process,
    free_port,
    server,
)
from tests.service.fakes import until

HELLO = {"q": "你好。", "source": "zh", "target": "en", "beam_size": 1}


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    with server() as process:
        process.wait_until_ready()
        yield process


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-slots", "65536", "--max-rows", "65536"], ["GiB", "max_rows"]),
        (["--model", "no/such/directory"], ["no/such/directory"]),
        (["--model", "tests"], ["config.json"]),
        (["--port", "99999999"], ["port"]),
        (["--device", "cuda:99"], ["device"]),
        (["--device", "cuda", "--precision", "int8"], ["cuda"]),
        (["--host", "203.0.113.1"], ["203.0.113.1"]),
        (["--port", "TAKEN"], ["TAKEN"]),
    ],
)
def test_what_cannot_be_served_is_said_and_exit_code_2(
    arguments: list[str], words: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [argument.replace("TAKEN", port) for argument in arguments]
        ended = subprocess.run(
            [DRAGOMAN, "serve", "--port", "0", *given],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
        )
    assert ended.returncode == 2
    assert all(word.replace("TAKEN", port) in ended.stdout for word in words)
    assert "Traceback" not in ended.stdout


def test_a_client_that_never_reads_holds_up_nobody_and_gathers_no_memory(process: Process) -> None:
    process.translate(**HELLO)
    before = process.gauge("process_resident_memory_bytes")
    unread = socket.socket()
    unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    unread.connect(("127.0.0.1", int(process.url.rpartition(":")[2])))
    path = process.url.replace("http", "ws") + "/translate/stream"
    with connect(path, sock=unread, max_queue=1, close_timeout=1) as stuck:
        for number in range(60):
            fields = {"id": number, "q": "字" * 20_000, "source": "zh", "target": "zh"}
            stuck.send(json.dumps(fields))
        for _ in range(5):
            assert process.translate(**HELLO).status_code == 200
        assert process.gauge("dragoman_open_streams") == 1
        assert process.gauge("process_resident_memory_bytes") - before < 2**26
    until(lambda: not process.gauge("dragoman_open_streams"))


@contextlib.contextmanager
def pair() -> Iterator[tuple[Process, Process]]:
    """Two servers that share a port; each has a port of its own for metrics."""
    port = free_port()
    shared = ("--share-port", "true", "--workers", "1", "--metrics-port")
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(server(*shared, str(own), port=port, metrics_port=own))
            for own in (free_port(), free_port())
        )
        for one in (first, second):
            one.wait_until_ready()
        yield first, second


def translate_often(process: Process, times: int) -> None:
    """Each time over a connection of its own."""
    assert {process.translate(**HELLO).status_code for _ in range(times)} == {200}


def test_servers_share_a_port_and_one_goes_on_when_the_other_ends() -> None:
    with pair() as servers:
        translate_often(servers[0], 64)
        name = 'dragoman_requests_total{endpoint="/translate"'
        counted = [server.gauge(name) for server in servers]
        assert sum(counted) == 64
        assert all(counted)
        for server in servers:
            translate_often(server, 16)
            server.popen.terminate()
            assert server.popen.wait(timeout=30) == 0


def test_a_draining_server_leaves_the_port_that_it_shares() -> None:
    with pair() as servers, ThreadPoolExecutor(1) as pool:
        running = pool.submit(servers[0].translate)
        until(lambda: any(one.gauge("dragoman_running{") > 0 for one in servers))
        (draining,) = (one for one in servers if one.gauge("dragoman_running{") > 0)
        draining.popen.send_signal(signal.SIGTERM)
        until(lambda: not draining.is_ready)
        translate_often(draining, 32)
        assert not running.done()
        assert running.result(timeout=120).status_code == 200
        assert draining.popen.wait(timeout=30) == 0


def test_sigterm_finishes_running_work_refuses_new_work_and_ends_with_0() -> None:
    with server() as process, ThreadPoolExecutor(1) as pool:
        process.wait_until_ready()
        running = pool.submit(process.translate)
        until(lambda: running.done() or process.gauge("dragoman_running{") > 0)
        process.popen.send_signal(signal.SIGTERM)
        until(lambda: not process.is_ready)
        assert process.get("/health/live").status_code == 200
        refused = process.translate(**HELLO)
        assert (refused.status_code, refused.json()["code"]) == (503, "draining")
        assert not running.done()
        answer = running.result(timeout=120)
        assert answer.status_code == 200
        assert len(answer.json()["translatedText"]) == 2 * len(TEXTS)
        assert process.popen.wait(timeout=30) == 0
