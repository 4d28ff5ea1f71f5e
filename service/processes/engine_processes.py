"""The engine processes as a front end sees them, and the models that it has loaded there."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from service.errors import NotReady
from service.models.pooled import FailedElsewhere
from service.processes.control import Peer
from service.processes.messages import LoadAnswer, ModelFiles, ModelSizes
from service.processes.remote_engine import EngineProcess, RemoteEngine

_Result = TypeVar("_Result")
_logger = logging.getLogger(__name__)
_MOST_TRIES = 2
"""Of a load, if all processes end in it."""


class EngineProcesses:
    """Those that are there, by name. A process that comes back loads again what the others have.
    Used on the event loop."""

    def __init__(self, names: Sequence[str], lost: Callable[[str], None]) -> None:
        """`names`: of all; `lost` is called with the key of a model that must leave all: a process
        that came back could not load it, or one needs its memory."""
        self._names, self._lost = names, lost
        self.there: dict[str, EngineProcess] = {}
        self.are_there = asyncio.Event()
        """Set once all were there."""
        self.pinned: Mapping[str, ModelSizes] = {}
        """The models that the processes have from the start, by name."""
        self._one_is_there = asyncio.Event()
        self._engines: dict[str, RemoteEngine] = {}
        """By the name or the key of their model."""
        self._files: dict[str, ModelFiles] = {}
        """Of the models that each process must have loaded, by key."""
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def connect(
        self, peer: Peer, connected: socket.socket, ended: Callable[[Peer], None]
    ) -> None:
        """Work with the process at the other end of this socket until it ends, which calls
        `ended`."""
        change = functools.partial(self._change, peer, ended)
        await EngineProcess(change).connect(connected)

    def engine(self, key: str, sizes: ModelSizes) -> RemoteEngine:
        """The engines of a model that the processes have."""
        let_go = functools.partial(self._unload_soon, asyncio.get_running_loop(), key)
        made = self._engines[key] = RemoteEngine(key, sizes, self.there.values(), let_go)
        return made

    async def load(self, key: str, files: ModelFiles) -> RemoteEngine:
        """Load a model into every process, under a new key, until one has it; those that have it
        later work from then on. Raises ValueError if none can load it."""
        self._files[key] = files
        try:
            return self.engine(key, await self._loaded(key, files))
        except BaseException:
            self._unload(key)
            raise

    @contextlib.asynccontextmanager
    async def reserved(self, models: Sequence[ModelFiles]) -> AsyncGenerator[None]:
        """Inside the block a process has all these models in memory, unless none can."""
        key = f"{next(self._numbers)} reserved"
        try:
            await self._first(lambda process: process.reserve(key, models))
            yield
        finally:
            self._give_back(key)

    def close(self) -> None:
        for process in self.there.values():
            process.close()

    def _change(self, peer: Peer, ended: Callable[[Peer], None], process: EngineProcess) -> None:
        known = self.there.get(peer.name)
        if process.is_there and known is not process:
            self.there[peer.name], self.pinned = process, process.sizes
            self._one_is_there.set()
            if len(self.there) == len(self._names):
                self.are_there.set()
            self._begin(self._restore(process))
        elif not process.is_there:
            if known is process:
                del self.there[peer.name]
            ended(peer)
        if not self.there:
            self._one_is_there.clear()
        for engine in self._engines.values():
            engine.renew()
        for key in process.wanted_back:
            self._lost(key)

    def _begin(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _restore(self, process: EngineProcess) -> None:
        """Load into a process what the others have. If it ends meanwhile, the model that it loads
        may be the reason: that is lost, too."""
        for key, files in list(self._files.items()):
            if key not in self._files:
                continue
            found = await _unless_ended(process.load_model(key, files))
            if key in self._files and (found is None or found.failure):
                _logger.error("%s cannot be loaded again", files.name)
                self._lost(key)
            if not process.is_there:
                return

    async def _loaded(self, key: str, files: ModelFiles) -> ModelSizes:
        """The sizes of a model, once a process has it."""
        for _ in range(_MOST_TRIES):
            await self._one_is_there.wait()
            found = await self._first(lambda process: process.load_model(key, files))
            if found is not None and found.sizes is not None:
                return found.sizes
            if found is not None:
                raise FailedElsewhere(found.failure, is_damage=found.is_damage)
        raise ValueError("the engine ended while it loaded the model")

    async def _first(
        self, ask: Callable[[EngineProcess], Coroutine[Any, Any, LoadAnswer]]
    ) -> LoadAnswer | None:
        """What the first process says that can do what it is asked, or else one that cannot; None
        if all end."""
        found = None
        asked = [self._begin(_unless_ended(ask(process))) for process in self.there.values()]
        for answer in asyncio.as_completed(asked):
            told = await answer
            if told is not None and not told.failure:
                return told
            found = told or found
        return found

    def _unload_soon(self, loop: asyncio.AbstractEventLoop, key: str) -> None:
        loop.call_soon_threadsafe(self._unload, key)

    def _unload(self, key: str) -> None:
        self._engines.pop(key, None)
        if self._files.pop(key, None):
            self._give_back(key)

    def _give_back(self, key: str) -> None:
        for process in self.there.values():
            process.give_back(key)


async def _unless_ended(asked: Coroutine[Any, Any, LoadAnswer]) -> LoadAnswer | None:
    """None: the process has ended."""
    try:
        return await asked
    except NotReady:
        return None
