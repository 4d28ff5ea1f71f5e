"""What rude clients cost everybody else: the slowest answer of /health/live, and memory.

Each attack is bytes on a connection or some, sent by a process of its own while another client asks
/health/live all the time. Memory is the server's resident memory after each attack; rounds show
what of it stays.

    python -m tests.soak.attacks
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import multiprocessing
import multiprocessing.process
import os
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.sentences import ROOT
from benchmarks.server import HOST, PORT, memory_mib, running_server

_TEXT, _CONTINUATION, _PING = 1, 0, 9
_UNREAD_SECONDS = 30
_PAUSE_SECONDS = 0.002
_LIVE = b"GET /health/live HTTP/1.1\r\nHost: test\r\n"
_POST = b"POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"


def frame(
    opcode: int, data: bytes = b"", *, is_last: bool = True, is_packed: bool = False
) -> bytes:
    """A websocket frame of a client; its mask is zero."""
    first = (0x80 if is_last else 0) | (0x40 if is_packed else 0) | opcode
    is_long = len(data) > 125
    length = struct.pack("!BH", 254, len(data)) if is_long else bytes([0x80 | len(data)])
    return bytes([first]) + length + bytes(4) + data


def packed_frames() -> bytes:
    """Two megabytes of frames that inflate to a megabyte each."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -12)
    data = compressor.compress(b" " * 10**6) + compressor.flush(zlib.Z_SYNC_FLUSH)
    packed = frame(_TEXT, data[:-4], is_packed=True)
    return packed * (2_000_000 // len(packed))


def websocket(frames: Callable[[], bytes]) -> Callable[[], bytes]:
    """The frames behind a handshake that asks for compression."""
    key = base64.b64encode(os.urandom(16)).decode()
    head = (
        "GET /translate/stream HTTP/1.1",
        "Host: test",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover",
        "\r\n",
    )
    return lambda: "\r\n".join(head).encode() + b"|" + frames()


def body(value: object) -> bytes:
    data = json.dumps(value).encode()
    return _POST + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(data) + data


_EMPTY = frame(_CONTINUATION, is_last=False)
_FIELDS = {"source": "zh", "target": "en"}
ATTACKS: dict[str, tuple[int, Callable[[], bytes]]] = {
    "nothing": (0, lambda: b""),
    "compressed frames, 2 MB": (1, websocket(packed_frames)),
    "the same on 8 connections": (8, websocket(packed_frames)),
    "200,000 empty fragments": (
        1,
        websocket(lambda: frame(_TEXT, is_last=False) + _EMPTY * 200_000),
    ),
    "60,000 pings": (1, websocket(lambda: frame(_PING) * 60_000)),
    "a million headers": (1, lambda: _LIVE + b"a:b\r\n" * 10**6),
    "a header without end": (1, lambda: _LIVE + b"a: " + b"x" * 6 * 10**7),
    "a million trailers": (1, lambda: _CHUNKED + b"1\r\nx\r\n0\r\n" + b"a:b\r\n" * 10**6),
    "50 bodies of a megabyte": (50, lambda: body({**_FIELDS, "q": "x" * 1_000_000})),
}


def attack(name: str, seconds: float) -> None:
    """Send on all connections what the server takes; read until it closes or the time is over."""
    count, make = ATTACKS[name]
    data = make()
    threads = [threading.Thread(target=_send, args=(data, seconds)) for _ in range(count)]
    for thread in threads:
        thread.start()
    if not threads:
        time.sleep(seconds)
    for thread in threads:
        thread.join()


def _send(data: bytes, seconds: float) -> None:
    head, is_websocket, frames = data.partition(b"\r\n\r\n|")
    with contextlib.suppress(OSError), socket.create_connection((HOST, PORT)) as client:
        client.settimeout(_UNREAD_SECONDS)
        if is_websocket:
            client.sendall(head + b"\r\n\r\n")
            client.recv(4096)
        reading = threading.Thread(target=_read, args=(client, time.monotonic() + seconds))
        reading.start()
        with contextlib.suppress(OSError):
            client.sendall(frames or data)
        reading.join()


def _read(client: socket.socket, ends_seconds: float) -> None:
    with contextlib.suppress(OSError):
        while (left := ends_seconds - time.monotonic()) > 0:
            client.settimeout(left)
            if not client.recv(65536):
                return


def slowest_answer(attacking: multiprocessing.process.BaseProcess) -> float:
    """The longest that /health/live took while the attack went on, in seconds."""
    slowest = 0.0
    while attacking.is_alive():
        started = time.perf_counter()
        asking = http.client.HTTPConnection(HOST, PORT, timeout=60)
        asking.request("GET", "/health/live")
        asking.getresponse().read()
        asking.close()
        slowest = max(slowest, time.perf_counter() - started)
        time.sleep(_PAUSE_SECONDS)
    return slowest


def measure(pid: int, rounds: int, seconds: float) -> None:
    spawn = multiprocessing.get_context("spawn")
    print(f"at first {memory_mib(pid)[0]:.0f} MiB", flush=True)
    for number in range(rounds):
        print(f"| round {number + 1} | slowest /health/live, ms | MiB after |\n|---|---|---|")
        for name in ATTACKS:
            attacking = spawn.Process(target=attack, args=(name, seconds))
            attacking.start()
            slowest = slowest_answer(attacking)
            print(f"| {name} | {slowest * 1000:.0f} | {memory_mib(pid)[0]:.0f} |", flush=True)
    print(f"at most {memory_mib(pid)[1]:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="an attack waits for answers")
    arguments = parser.parse_args()
    with running_server(arguments.model) as server:
        measure(server.pid, arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
