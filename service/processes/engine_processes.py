"""The engine processes as a front end sees them, and the models that it has loaded there."""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
from collections.abc import Callable, Mapping, Sequence

from model.checkpoint import CheckpointError
from service.errors import NotReady
from service.processes.control import Peer
from service.processes.messages import LoadAnswer, ModelFiles, ModelSizes
from service.processes.remote_engine import EngineProcess, RemoteEngine

_logger = logging.getLogger(__name__)
_MOST_TRIES = 2
"""Of a load, if all processes end in it."""


class EngineProcesses:
    """Those that are there, by name. A process that comes back loads again what the others have.
    Used on the event loop."""

    def __init__(self, names: Sequence[str], lost: Callable[[str], None]) -> None:
        """`names`: of all; `lost` is called with the key of a model that a process which came back
        could not load."""
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
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(
        self, peer: Peer, connected: socket.socket, ended: Callable[[Peer], None]
    ) -> None:
        """Work with the process at the other end of this socket until it ends, which calls
        `ended`, if it was the last of its name."""
        change = functools.partial(self._change, peer, ended)
        await EngineProcess(change).connect(connected)

    def engine(self, key: str, sizes: ModelSizes) -> RemoteEngine:
        """The engines of a model that the processes have."""
        let_go = functools.partial(self._unload_soon, asyncio.get_running_loop(), key)
        made = self._engines[key] = RemoteEngine(key, sizes, self.there.values(), let_go)
        return made

    async def load(self, key: str, files: ModelFiles) -> RemoteEngine:
        """Load a model into every process, under a new key. Raises ValueError, also if all end."""
        self._files[key] = files
        try:
            return self.engine(key, await self._loaded(key, files))
        except BaseException:
            self._unload(key)
            raise

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
            task = asyncio.ensure_future(self._restore(process))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif not process.is_there:
            if known is process:
                del self.there[peer.name]
            ended(peer)
        if not self.there:
            self._one_is_there.clear()
        for engine in self._engines.values():
            engine.renew()

    async def _restore(self, process: EngineProcess) -> None:
        """Load into a process what the others have. If it ends meanwhile, the model that it loads
        may be the reason: that is lost, too."""
        for key, files in list(self._files.items()):
            if key not in self._files:
                continue
            try:
                found = await process.load_model(key, files)
            except NotReady as error:
                found = LoadAnswer(None, str(error))
            if found.sizes is None:
                _logger.error("%s cannot be loaded again: %s", files.name, found.failure)
                self._lost(key)
            if not process.is_there:
                return

    async def _loaded(self, key: str, files: ModelFiles) -> ModelSizes:
        """The sizes of a model, once each process that is there has it, or has ended."""
        for _ in range(_MOST_TRIES):
            await self._one_is_there.wait()
            asked = [process.load_model(key, files) for process in self.there.values()]
            found = await asyncio.gather(*asked, return_exceptions=True)
            answers = [one for one in found if isinstance(one, LoadAnswer)]
            for answer in answers:
                if answer.sizes is None:
                    raise (CheckpointError if answer.is_damage else ValueError)(answer.failure)
            if sizes := [answer.sizes for answer in answers if answer.sizes]:
                return sizes[0]
        raise ValueError("the engine ended while it loaded the model")

    def _unload_soon(self, loop: asyncio.AbstractEventLoop, key: str) -> None:
        loop.call_soon_threadsafe(self._unload, key)

    def _unload(self, key: str) -> None:
        self._engines.pop(key, None)
        if self._files.pop(key, None):
            for process in self.there.values():
                process.unload_model(key)
