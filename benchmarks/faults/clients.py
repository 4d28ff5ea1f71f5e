"""Faults of clients: they vanish amid their answers, or never read them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from benchmarks.faults.bench import Bench, repeated
from benchmarks.faults.promise import Promise, loaded
from benchmarks.soak import rude
from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.sockets import open_socket
from benchmarks.soak.wire import EVENT_STREAM

_ROOMY = [
    *("--max-characters", "2000000", "--max-body-bytes", "16000000"),
    *("--max-document-characters", "10000000"),
]
"""So that one answer is larger than what the system buffers of a connection."""
_KILLED, _AT_ONCE = 120, 20
_LARGE = {"q": ["字" * 20_000] * 75, "source": "zh", "target": "zh"}
_UNREAD_SECONDS = 30.0
_MOST_SECONDS = 3 * _UNREAD_SECONDS


async def kill_clients(bench: Bench) -> None:
    """Streams, sockets and uploads that are reset while the server works on them."""
    visits = (
        *(rude.leave_a_stream, rude.leave_without_waiting, rude.leave_amid_the_body),
        *(rude.leave_a_file, _kill_a_websocket),
    )
    for visit in visits:
        await repeated(_KILLED // len(visits), _AT_ONCE, visit, bench.scene)
    bench.seen.facts.append(f"{_KILLED} clients killed")


async def _kill_a_websocket(scene: Scene) -> Result:
    opened = await open_socket(scene.writers.plain)
    for number in range(5):
        fields = {"id": number, **scene.case("paragraph", "list").fields}
        await opened.send(json.dumps(fields))
    await opened.recv()
    opened.transport.abort()
    return Result.LEFT


async def stall_readers(bench: Bench) -> None:
    """Answers of megabytes that nobody reads: events, websocket messages, a download."""
    before = bench.process.descriptors()["sockets"]
    clients = [
        await _ask(bench, bench.writer.json("/translate", _LARGE, Accept=EVENT_STREAM)),
        await _ask(bench, bench.writer.json("/translate", _LARGE)),
        await _ask(bench, await _large_download(bench)),
    ]
    stalled = await _stall_a_websocket(bench)
    started = time.monotonic()
    await asyncio.sleep(2)
    is_held = bench.process.descriptors()["sockets"] >= before + len(clients) + 1
    bench.seen.require(is_held, "the answers were buffered whole: nobody was stalled")
    while bench.process.descriptors()["sockets"] > before + 1:  # honest ones come and go
        if time.monotonic() > started + _MOST_SECONDS:
            bench.seen.require(False, "stalled readers are still connected")
            break
        await asyncio.sleep(0.5)
    bench.seen.facts.append(f"4 readers dropped after {time.monotonic() - started:.0f} s")
    stalled.transport.abort()
    for client in clients:
        client.close()


async def _ask(bench: Bench, request: bytes) -> socket.socket:
    client = await _narrow(bench)
    await asyncio.get_running_loop().sock_sendall(client, request)
    return client


async def _narrow(bench: Bench) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, (bench.pool.host, bench.pool.port))
    return client


async def _large_download(bench: Bench) -> bytes:
    """A request for a file that is larger than the system's buffers."""
    content = ("字" * 1000 + "\n").encode() * 2500
    fields = {"source": "zh", "target": "zh"}
    upload = bench.writer.multipart("/translate_file", fields, ("large.txt", content))
    answer = await bench.pool.send(upload)
    bench.seen.require(answer.status == 200, f"an upload was answered {answer.status}")
    path = answer.json()["translatedFileUrl"].partition(f":{bench.writer.port}")[2]
    return bench.writer.request("GET", path)


async def _stall_a_websocket(bench: Bench) -> ClientConnection:
    opened = await open_socket(bench.writer, await _narrow(bench), max_queue=1)
    with contextlib.suppress(ConnectionClosed, TimeoutError):
        async with asyncio.timeout(5):
            for number in range(60):
                await opened.send(json.dumps({"id": number, **_LARGE, "q": "字" * 100_000}))
    return opened


PROMISES = (
    Promise(
        "kill-clients",
        "A client that vanishes takes its work along: no slot, row or connection is left.",
        "120 clients reset amid streams, websockets, uploads and bodies",
        loaded(kill_clients),
        ("tests/end_to_end/test_server.py::test_a_client_that_hangs_up_frees_its_slots",),
    ),
    Promise(
        "stall-readers",
        "A reader that never reads is dropped, and holds up nobody.",
        "answers of 9 MB as events, JSON, download and websocket messages, never read",
        loaded(stall_readers, _ROOMY),
        (
            "tests/end_to_end/test_server.py::test_a_client_that_never_reads_holds_up_nobody_and_gathers_no_memory",
            "tests/service/http/protocols/test_http.py::test_an_answer_that_nobody_reads_ends_the_connection",
        ),
    ),
)
