"""The models of a store that one front end has in memory in an engine process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol

from model.checkpoint import is_damage
from service.engine.engine import Engine
from service.processes.messages import LoadAnswer, ModelFiles, ModelSizes
from service.processes.questions import Answers


class LoadedEngine(NamedTuple):
    """The engine of a model in memory."""

    name: str
    engine: Engine
    sizes: ModelSizes


class ModelLoader(Protocol):
    """What loads models into a process. `turn` is held for each call."""

    turn: asyncio.Lock

    async def load(self, files: ModelFiles) -> LoadedEngine:
        """The model with its engine, which works. Raises anything."""
        ...

    async def let_go(self, loaded: LoadedEngine) -> None:
        """Stop its engine, and free its memory."""
        ...


class HeldModels:
    """Models under the keys that the front end gives them. Loads and ends happen in the order in
    which they are asked for, so that memory is free before it is taken again."""

    def __init__(
        self, loader: ModelLoader, engines: dict[str, Engine], changed: Callable[[], None]
    ) -> None:
        """`engines`: where they are put; `changed` is called before an answer."""
        self._loader, self._engines, self._changed = loader, engines, changed
        self._held: dict[str, LoadedEngine] = {}
        self._ending: asyncio.Task[None] | None = None

    def answers(self) -> Answers:
        return {"load": self._load, "unload": self._unload}

    def give_back(self) -> None:
        """The front end has ended."""
        self._ending = asyncio.ensure_future(self._unload_all())

    async def _load(self, key: str, *files: str) -> LoadAnswer:
        """A model that is there already is not loaded again."""
        async with self._loader.turn:
            if key not in self._held:
                try:
                    loaded = await self._loader.load(ModelFiles(*files))
                except Exception as error:
                    return LoadAnswer(None, str(error), is_damage(error))
                self._held[key], self._engines[key] = loaded, loaded.engine
                self._changed()
            return LoadAnswer(self._held[key].sizes)

    async def _unload(self, key: str) -> None:
        """A model that could not be loaded is not there."""
        async with self._loader.turn:
            if loaded := self._held.pop(key, None):
                del self._engines[key]
                await self._loader.let_go(loaded)

    async def _unload_all(self) -> None:
        """A load that runs now is finished before."""
        async with self._loader.turn:
            keys = list(self._held)
        for key in keys:
            await self._unload(key)
