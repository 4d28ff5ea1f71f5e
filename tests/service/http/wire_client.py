"""A server process, and a client that writes bytes."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).parents[3]
WAIT_SECONDS = 60
_SERVER = "tests.service.http.server_process"
TEXT, CONTINUATION, BINARY, CLOSE, PING, PONG = 1, 0, 2, 8, 9, 10


class ServerProcess:
    """tests.service.http.server_process; what it logs is in the file `log`."""

    def __init__(self, log: Path, *, is_debugged: bool = False, **settings: Any) -> None:
        self.log = log
        with log.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _SERVER, json.dumps(settings)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "PYTHONASYNCIODEBUG": "1" if is_debugged else ""},
            )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def num_connections(self) -> int:
        """Those that the server holds open."""
        found = psutil.Process(self._process.pid).net_connections("tcp")
        return sum(c.laddr.port == self.port and c.status != "LISTEN" for c in found)

    @property
    def pid(self) -> int:
        return self._process.pid

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.url + path, timeout=WAIT_SECONDS)

    def terminate(self) -> int:
        """SIGTERM -> the exit code."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=WAIT_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def end(self) -> None:
        if self._process.poll() is None:
            self.terminate()

    def errors(self) -> list[dict[str, Any]]:
        """What was logged that somebody would have to look at."""
        events = map(json.loads, self.log.read_text().splitlines())
        return [event for event in events if event["level"] in ("warning", "error")]

    @contextlib.contextmanager
    def connect(self, receive_buffer_bytes: int | None = None) -> Iterator[socket.socket]:
        with socket.socket() as client:
            if receive_buffer_bytes is not None:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            client.settimeout(WAIT_SECONDS)
            client.connect(("127.0.0.1", self.port))
            yield client

    def exchange(self, data: bytes) -> bytes:
        """Send all of it as far as the server takes it -> all that comes back until it closes."""
        with self.connect() as client:
            return exchange(client, data)


def exchange(client: socket.socket, data: bytes) -> bytes:
    def send() -> None:
        with contextlib.suppress(OSError):
            client.sendall(data)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        return read_to_end(client)
    finally:
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        sending.join()


def read_to_end(client: socket.socket) -> bytes:
    received = b""
    try:
        while data := client.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def read_until(client: socket.socket, marker: bytes) -> bytes:
    """What is received until the marker has come."""
    received = b""
    while marker not in received:
        data = client.recv(65536)
        assert data, "the connection ended"
        received += data
    return received


def read_answer(client: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the JSON body of the next answer; the connection may stay open."""
    answer = http.client.HTTPResponse(client, method="POST")
    answer.begin()
    return answer.status, json.loads(answer.read())


def answer_of(received: bytes) -> tuple[int, dict[str, Any]]:
    """The status and the JSON body of the only answer."""
    head, body = received.split(b"\r\n\r\n", 1)
    return int(head.split()[1]), json.loads(body)


def head(path: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def handshake(*headers: str, path: str = "/translate/stream") -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    asked = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    return head(path, *asked, f"Sec-WebSocket-Key: {key}", *headers, method="GET")


def frame(opcode: int, data: bytes = b"", *, is_last: bool = True) -> bytes:
    """A client's frame; its mask is zero."""
    size = len(data)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = struct.pack("!BH", 0x80 | 126, size)
    else:
        length = struct.pack("!BQ", 0x80 | 127, size)
    return bytes([(0x80 if is_last else 0) | opcode]) + length + bytes(4) + data


def open_websocket(client: socket.socket, *headers: str) -> bytes:
    """Shake hands -> the server's answer."""
    client.sendall(handshake(*headers))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += client.recv(1)
    assert answer.startswith(b"HTTP/1.1 101")
    return answer


def frames_of(received: bytes) -> list[tuple[int, bytes]]:
    """The server's frames: opcode and payload."""
    frames = []
    while received:
        opcode, size, start = received[0] & 15, received[1], 2
        if size == 126:
            (size,), start = struct.unpack("!H", received[2:4]), 4
        elif size == 127:
            (size,), start = struct.unpack("!Q", received[2:10]), 10
        frames.append((opcode, received[start : start + size]))
        received = received[start + size :]
    return frames


def close_code_of(received: bytes) -> int:
    """The code of the close frame, which must be the last."""
    opcode, data = frames_of(received)[-1]
    assert opcode == CLOSE
    return int.from_bytes(data[:2], "big")
