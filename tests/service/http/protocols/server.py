"""The server with a fake model as a process of its own: its port is its first line.

    python -m tests.service.http.protocols.server LIMITS STEP_SECONDS SETTINGS

LIMITS are of WireLimits and SETTINGS of Settings, as JSON. GET /longest-turn says how many seconds
of CPU the event loop has spent between two turns at most since it was asked last; other load does
not count. GET /garbage collects it, and says how many objects of which types it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence

from fastapi import FastAPI

from model.decoding.sentence import StepResult
from service.app import build_document, create_app, drain
from service.http.protocols.http import HttpProtocol
from service.http.protocols.limits import WireLimits
from service.http.protocols.websocket import WebSocketProtocol
from service.observability.logs import configure_logs
from service.server import Server, uvicorn_config
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

_BEAT_SECONDS = 0.001
_SEND_BUFFER_BYTES = 16 * 1024  # small, so that a client that does not read is soon noticed


class SlowRunner(FakeRunner):
    def __init__(self, step_seconds: float) -> None:
        super().__init__()
        self._step_seconds = step_seconds

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        time.sleep(self._step_seconds)
        return super().step(handles)


class LoopWatch:
    def __init__(self) -> None:
        self.longest_seconds = 0.0

    async def run(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(_BEAT_SECONDS)
            now = time.thread_time()
            self.longest_seconds = max(self.longest_seconds, now - last)
            last = now


def _watched(app: FastAPI) -> FastAPI:
    watch, start = LoopWatch(), app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with start(app):
            watching = asyncio.create_task(watch.run())
            yield
            watching.cancel()

    app.router.lifespan_context = lifespan

    @app.get("/longest-turn")
    async def longest_turn() -> float:
        seconds, watch.longest_seconds = watch.longest_seconds, 0.0
        return seconds

    @app.get("/garbage")
    async def garbage() -> dict[str, int]:
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = Counter(type(thing).__name__ for thing in gc.garbage)
        gc.set_debug(0)
        gc.garbage.clear()
        gc.collect()
        return found

    return app


def main(limits: WireLimits, step_seconds: float, settings: Settings) -> None:
    class Http(HttpProtocol):
        pass

    class WebSocket(WebSocketProtocol):
        pass

    Http.limits = WebSocket.limits = limits
    configure_logs("debug", "json")
    app = _watched(create_app(settings, [fake_model(SlowRunner(step_seconds))]))
    build_document(app)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn_config(
            app, 2**20, Http, WebSocket, trusted_proxies=settings.trusted_proxies
        )
        Server(config, lambda: drain(app, 0.1)).run(sockets=[listener])


if __name__ == "__main__":
    main(
        WireLimits(**json.loads(sys.argv[1])),
        float(sys.argv[2]),
        Settings(**json.loads(sys.argv[3])),
    )
