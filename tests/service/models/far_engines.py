"""Engines behind a connection, as if in another process, which loads what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Callable

from service.engine.engine import Engine
from service.observability.metrics import Metrics
from service.processes.control import Peer
from service.processes.engine_processes import EngineProcesses
from service.processes.engine_server import EngineServer
from service.processes.held_models import LoadedEngine
from service.processes.messages import ModelFiles, ModelSizes
from service.processes.remote_engine import RemoteEngine
from tests.service.fakes import eventually

Load = Callable[[], Engine]


class FarEngines:
    """Processes, in name, that load models by functions of the test."""

    def __init__(self, num_processes: int) -> None:
        self.turn = asyncio.Lock()
        self.metrics = Metrics()
        """Of the engines."""
        self.lost: list[str] = []
        """Keys of models that could not be loaded again."""
        self.names = [f"engine-{number}" for number in range(num_processes)]
        self.processes = EngineProcesses(self.names, self.lost.append)
        self.num_loaded = 0
        self._servers: dict[str, contextlib.AsyncExitStack] = {}
        self._loads: dict[str, Load] = {}
        self._newest: dict[str, LoadedEngine] = {}
        self._numbers = itertools.count()
        self._loop = asyncio.get_running_loop()

    def load_there(self, name: str, load: Load) -> RemoteEngine:
        """Runs in a thread."""
        loading = self.load_soon(name, load)
        return asyncio.run_coroutine_threadsafe(loading, self._loop).result()

    async def load_soon(self, name: str, load: Load) -> RemoteEngine:
        key = f"{name} {next(self._numbers)}"
        self._loads[key] = load
        return await self.processes.load(key, ModelFiles(name, key, ""))

    async def start(self, name: str) -> None:
        ours, theirs = socket.socketpair()
        server = EngineServer({}, self, {})
        self._servers[name] = contextlib.AsyncExitStack()
        await self._servers[name].enter_async_context(server.running())
        await server.serve(theirs)
        await self.processes.connect(Peer(name, next(self._numbers)), ours, lambda _: None)

    async def end(self, name: str) -> None:
        """End a process, as the front end sees it."""
        await self._servers.pop(name).aclose()
        await eventually(lambda: name not in self.processes.there)

    async def load(self, files: ModelFiles) -> LoadedEngine:
        engine = await asyncio.to_thread(self._loads[files.path])
        self.metrics.of_model(files.name).watch_engine(engine.gauges, 1)
        engine.start()
        self.num_loaded += 1
        sizes = ModelSizes(engine.max_beam_size, engine.max_target_tokens, 1)
        loaded = self._newest[files.name] = LoadedEngine(files.name, engine, sizes)
        return loaded

    async def let_go(self, loaded: LoadedEngine) -> None:
        if self._newest[loaded.name] is loaded:
            self.metrics.of_model(loaded.name).forget_engine()
        await asyncio.to_thread(loaded.engine.stop)
        self.num_loaded -= 1


@contextlib.asynccontextmanager
async def far_engines(num_processes: int = 1) -> AsyncIterator[FarEngines]:
    """At the end no process has a model any more."""
    far = FarEngines(num_processes)
    for name in far.names:
        await far.start(name)
    await eventually(far.processes.are_there.is_set)
    yield far
    for name in list(far._servers):
        await far.end(name)
    await eventually(lambda: not far.num_loaded and not far.processes.there)
