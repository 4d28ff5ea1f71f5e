"""Clients that stay all the time: pages that watch the engines, slow and stalled readers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable

from websockets.exceptions import ConnectionClosed

from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.sockets import open_socket
from benchmarks.soak.translations import judge_messages, read_events, streamed_request
from benchmarks.soak.wire import Hangup

_WATCH_SECONDS, _NUM_WATCHERS = 0.25, 2
_PAUSE_SECONDS = 20.0
_SLOW_BYTES, _SLOW_SECONDS = 512, 0.1
_STALLED_REQUESTS, _STALLED_CHARACTERS, _STALLED_SECONDS = 60, 15_000, 60.0
Count = Callable[[str, Result], None]


@contextlib.asynccontextmanager
async def background(scene: Scene, count: Count) -> AsyncGenerator[None]:
    """They run until the end of the block."""
    everybody: list[tuple[str, Callable[[Scene], Awaitable[Result]], float]] = [
        *[("page", watch_the_engines, _WATCH_SECONDS)] * _NUM_WATCHERS,
        ("slow reader", read_slowly, _PAUSE_SECONDS),
        ("stalled reader", never_read, _PAUSE_SECONDS),
        ("half a body", send_half_a_body, _PAUSE_SECONDS),
    ]
    tasks = [asyncio.create_task(_again_and_again(scene, count, *one)) for one in everybody]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _again_and_again(
    scene: Scene,
    count: Count,
    name: str,
    visit: Callable[[Scene], Awaitable[Result]],
    pause_seconds: float,
) -> None:
    while True:
        try:
            count(name, await visit(scene))
        except OSError as error:
            scene.on_problem({"kind": name, "lost": str(error)})
            count(name, Result.LOST)
        await asyncio.sleep(pause_seconds)


async def watch_the_engines(scene: Scene) -> Result:
    """As an open page does."""
    path = "/page/engine.json" if scene.rng.random() < 0.9 else "/page/engine.txt"
    answer = await scene.pool.send(scene.writers.plain.request("GET", path))
    if answer.status == 200 and path.endswith("json"):
        json.loads(answer.body)
    return scene.judge("page", answer) or Result.RIGHT


async def read_slowly(scene: Scene) -> Result:
    """A stream read at 5 kB/s through the smallest buffer."""
    case = scene.case("list", "paragraph")
    loop, client = asyncio.get_running_loop(), await _connect_narrow(scene)
    with client:
        request = streamed_request(scene.writers.plain, case).replace(
            b"\r\n", b"\r\nConnection: close\r\n", 1
        )
        await loop.sock_sendall(client, request)
        got = b""
        while data := await loop.sock_recv(client, _SLOW_BYTES):
            got += data
            await asyncio.sleep(_SLOW_SECONDS)
    head, _, body = got.partition(b"\r\n\r\n")
    if b" 503 " in head.splitlines()[0]:
        return Result.REFUSED
    return judge_messages(scene, "slow reader", case, read_events(_unchunked(body)))


async def never_read(scene: Scene) -> Result:
    """Asks over a websocket for megabytes that cost no engine, and reads nothing."""
    client = await _connect_narrow(scene)
    with client, contextlib.suppress(ConnectionClosed, Hangup):
        opened = await open_socket(scene.writers.plain, client, max_queue=1)
        fields = {"q": "字" * _STALLED_CHARACTERS, "source": "zh", "target": "zh"}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STALLED_SECONDS):
                for number in range(_STALLED_REQUESTS):
                    await opened.send(json.dumps({"id": number, **fields}))
                await asyncio.sleep(_STALLED_SECONDS)
        opened.transport.abort()
    return Result.LEFT


async def send_half_a_body(scene: Scene) -> Result:
    """The server must not wait for the rest for ever."""
    request = scene.writers.plain.json("/translate", {"q": "x" * 10_000})
    async with scene.pool.lent() as connection, asyncio.timeout(60):
        answer = await connection.exchange(request[:-5000])
    return scene.compare("half a body", "", answer.status, 408)


async def _connect_narrow(scene: Scene) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    address = (scene.pool.host, scene.pool.port)
    await asyncio.get_running_loop().sock_connect(client, address)
    return client


def _unchunked(body: bytes) -> bytes:
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)
