"""Engines behind connections, as if in other processes, which load what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Callable
from math import inf
from typing import NamedTuple

from service.engine.engine import Engine
from service.models.pool import ModelPool
from service.models.pooled import Loadable, PooledModel
from service.observability.metrics import Metrics
from service.processes.control import Peer
from service.processes.engine_processes import EngineProcesses
from service.processes.engine_server import EngineServer
from service.processes.held_models import SharedModels
from service.processes.messages import ModelFiles
from service.processes.remote_engine import RemoteEngine
from tests.service.fakes import eventually

Load = Callable[[], Engine]


class LoadedVersion(NamedTuple):
    """A model in memory."""

    engine: Engine


class FarEngines:
    """Processes, in name, that load models of one byte by functions of the test, each within a
    limit, for one front end or more."""

    def __init__(self, num_processes: int, limit: int) -> None:
        self.metrics = Metrics()
        """Of the engines."""
        self.lost: list[str] = []
        """Keys of models that the first front end was told to let go."""
        self.names = [f"engine-{number}" for number in range(num_processes)]
        self.processes = EngineProcesses(self.names, self.lost.append)
        """As the first front end sees them."""
        self.front_ends = [self.processes]
        self.num_loading = 0
        self.pools: list[ModelPool[LoadedVersion]] = []
        """Of all processes that were started."""
        self._limit = limit
        self._servers: dict[str, tuple[EngineServer, contextlib.AsyncExitStack]] = {}
        self.loads: dict[str, Load] = {}
        """By version."""
        self._numbers = itertools.count()
        self._loop = asyncio.get_running_loop()

    @property
    def num_loaded(self) -> int:
        """Copies of models in memory, or for which memory is kept."""
        return sum(pool.num_bytes for pool in self.pools)

    def load_there(
        self,
        name: str,
        load: Load,
        front_end: EngineProcesses | None = None,
        version: str = "",
    ) -> RemoteEngine:
        """Runs in a thread. `version`: one that several front ends share."""
        loading = self.load_soon(name, load, front_end, version)
        return asyncio.run_coroutine_threadsafe(loading, self._loop).result()

    async def load_soon(
        self,
        name: str,
        load: Load,
        front_end: EngineProcesses | None = None,
        version: str = "",
    ) -> RemoteEngine:
        key = f"{name} {next(self._numbers)}"
        self.loads[version or key] = load
        return await (front_end or self.processes).load(key, self.files_of(name, version or key))

    def files_of(self, name: str, version: str) -> ModelFiles:
        return ModelFiles(name, version, "")

    async def start(self, name: str) -> None:
        pool = ModelPool[LoadedVersion](self._limit, 10_000, inf)
        pool.start()
        self.pools.append(pool)
        server, stack = (
            EngineServer({}, SharedModels(pool, self._version), {}),
            contextlib.AsyncExitStack(),
        )
        self._servers[name] = server, stack
        await stack.enter_async_context(server.running())
        for front_end in self.front_ends:
            await self._connect(front_end, name)

    async def end(self, name: str) -> None:
        """End a process, as the front ends see it."""
        _, stack = self._servers.pop(name)
        await stack.aclose()
        await eventually(lambda: not any(name in one.there for one in self.front_ends))

    async def start_front_end(self, lost: Callable[[str], None]) -> EngineProcesses:
        """`lost`: as of EngineProcesses."""
        front_end = EngineProcesses(self.names, lost)
        self.front_ends.append(front_end)
        for name in self._servers:
            await self._connect(front_end, name)
        return front_end

    def end_front_end(self, front_end: EngineProcesses) -> None:
        front_end.close()
        self.front_ends.remove(front_end)

    async def end_all(self) -> None:
        """At the end no process has a model any more."""
        for name in list(self._servers):
            await self.end(name)
        await eventually(lambda: not self.num_loaded)
        for pool in self.pools:
            pool.stop()

    async def _connect(self, front_end: EngineProcesses, name: str) -> None:
        ours, theirs = socket.socketpair()
        await self._servers[name][0].serve(theirs)
        await front_end.connect(Peer(name, next(self._numbers)), ours, lambda _: None)

    def _version(self, files: ModelFiles, key: str) -> PooledModel[LoadedVersion]:
        def load() -> LoadedVersion:
            self.num_loading += 1
            try:
                return LoadedVersion(self.loads[files.path]())
            finally:
                self.num_loading -= 1

        metrics = self.metrics.of_model(files.name)
        return PooledModel(files.name, Loadable("", lambda: load, 1), metrics, own_key=key)


@contextlib.asynccontextmanager
async def far_engines(num_processes: int = 1, limit: int = 10**6) -> AsyncIterator[FarEngines]:
    """`limit`: bytes of each process."""
    far = FarEngines(num_processes, limit)
    for name in far.names:
        await far.start(name)
    await eventually(far.processes.are_there.is_set)
    yield far
    await far.end_all()
