"""The models of a store that front ends have in memory in an engine process."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from model.checkpoint import CheckpointError, is_damage
from service.engine.engine import Engine
from service.engine.ticket import NO_TICKET
from service.errors import NotReady
from service.models.pool import ModelPool
from service.models.pooled import PooledModel
from service.processes.messages import LoadAnswer, ModelFiles, ModelSizes
from service.processes.questions import Answers


class _LocalModel(Protocol):
    """A model in the memory of this process."""

    @property
    def engine(self) -> Engine: ...


LocalT = TypeVar("LocalT", bound=_LocalModel)


class LoadedEngine(NamedTuple):
    """The engine of a model in memory."""

    engine: Engine
    sizes: ModelSizes

    @classmethod
    def of(cls, engine: Engine, num_bytes: int) -> LoadedEngine:
        sizes = ModelSizes(engine.max_beam_size, engine.max_target_tokens, num_bytes)
        return cls(engine, sizes)


_Leased = AbstractAsyncContextManager[ModelSizes | None]


class SharedModels(Generic[LocalT]):
    """Versions of models in the pool of this process, each as long as a front end has a lease."""

    def __init__(
        self, pool: ModelPool[LocalT], make: Callable[[ModelFiles, str], PooledModel[LocalT]]
    ) -> None:
        """`make`: a version with a key of its own. It may raise anything."""
        self._pool, self._make = pool, make
        self._own = list(pool.models.values())
        self._versions: dict[ModelFiles, PooledModel[LocalT]] = {}
        self._num_leases = Counter[ModelFiles]()

    @contextlib.asynccontextmanager
    async def lease(self, models: Sequence[ModelFiles]) -> AsyncGenerator[None]:
        """These versions in memory at once, until the block ends. Raises ValueError,
        CheckpointError for damaged files."""
        with contextlib.ExitStack() as stack:
            versions = [stack.enter_context(self._known(files)) for files in models]
            try:
                async with self._pool.lease([one.key for one in versions], NO_TICKET):
                    yield
            except NotReady as error:
                failed = next((one for one in versions if one.failure), versions[0])
                kind = CheckpointError if failed.is_damaged else ValueError
                raise kind(failed.failure or str(error)) from error

    @contextlib.contextmanager
    def lease_again(self, files: ModelFiles) -> Iterator[LoadedEngine]:
        """A version that the caller has a lease of, until the block ends."""
        with self._known(files) as version, self._pool.lease_again(version.key) as loaded:
            yield LoadedEngine.of(loaded.engine, version.loadable.num_bytes)

    def is_wanted_back(self, files: ModelFiles) -> bool:
        """Whether the leases of a version in memory must end, because others need its memory."""
        return self._versions[files].usable is None

    @contextlib.contextmanager
    def _known(self, files: ModelFiles) -> Iterator[PooledModel[LocalT]]:
        """A version in the pool, until the last block with it ends."""
        if files not in self._versions:
            self._versions[files] = self._make(files, " ".join(files))
            self._offer()
        self._num_leases[files] += 1
        try:
            yield self._versions[files]
        finally:
            self._num_leases[files] -= 1
            if not self._num_leases[files]:
                del self._num_leases[files], self._versions[files]
                self._offer()

    def _offer(self) -> None:
        self._pool.offer([*self._own, *self._versions.values()])


class HeldModels:
    """The leases of one front end, under the keys that it gives them: of one model, whose engine it
    uses, or of several that are reserved until it has each."""

    def __init__(
        self,
        models: SharedModels[Any],
        engines: dict[str, Engine],
        changed: Callable[[], None],
    ) -> None:
        """`engines`: where they are put; `changed` is called before an answer."""
        self._models, self._engines, self._changed = models, engines, changed
        self._all_used: dict[str, ModelFiles] = {}
        self._all_reserved: dict[str, Sequence[ModelFiles]] = {}
        self._leases: dict[str, tuple[asyncio.Task[None], asyncio.Future[LoadAnswer]]] = {}

    def answers(self) -> Answers:
        return {"load": self._load, "reserve": self._reserve, "give_back": self._give_back}

    def wanted_back(self) -> list[str]:
        """The keys of the models that the front end must let go."""
        return [key for key, one in self._all_used.items() if self._models.is_wanted_back(one)]

    def end(self) -> None:
        """The front end has ended."""
        for lease, _ in self._leases.values():
            lease.cancel()

    def _load(self, key: str, models: Sequence[Sequence[str]]) -> Awaitable[LoadAnswer]:
        (files,) = models
        return self._answer(key, self._used(key, ModelFiles(*files)))

    def _reserve(self, key: str, models: Sequence[Sequence[str]]) -> Awaitable[LoadAnswer]:
        return self._answer(key, self._reserved(key, [ModelFiles(*one) for one in models]))

    def _give_back(self, key: str) -> None:
        """A model that could not be loaded is not there."""
        if key in self._leases:
            self._leases[key][0].cancel()

    def _answer(self, key: str, leased: _Leased) -> Awaitable[LoadAnswer]:
        """A model that is there already is not loaded again. The lease is known at once, so that it
        can be given back."""
        if key not in self._leases:
            answer = asyncio.get_running_loop().create_future()
            lease = asyncio.create_task(_keep(leased, answer))
            lease.add_done_callback(lambda _: self._forget(key))
            self._leases[key] = lease, answer
        return self._leases[key][1]

    def _forget(self, key: str) -> None:
        """Its lease has ended, perhaps before it began."""
        _, answer = self._leases.pop(key)
        if not answer.done():
            answer.set_result(LoadAnswer(None, "it is not needed any more"))

    @contextlib.asynccontextmanager
    async def _used(self, key: str, files: ModelFiles) -> AsyncGenerator[ModelSizes]:
        """A model whose engine the front end uses."""
        async with contextlib.AsyncExitStack() as stack:
            if not any(files in reserved for reserved in self._all_reserved.values()):
                await stack.enter_async_context(self._models.lease([files]))
            loaded = stack.enter_context(self._models.lease_again(files))
            self._all_used[key], self._engines[key] = files, loaded.engine
            self._changed()
            try:
                yield loaded.sizes
            finally:
                del self._all_used[key], self._engines[key]

    @contextlib.asynccontextmanager
    async def _reserved(self, key: str, models: Sequence[ModelFiles]) -> AsyncGenerator[None]:
        """Models that are all in memory at once."""
        async with self._models.lease(models):
            self._all_reserved[key] = models
            try:
                yield
            finally:
                del self._all_reserved[key]


async def _keep(leased: _Leased, answer: asyncio.Future[LoadAnswer]) -> None:
    """Have models in memory until they are given back."""
    try:
        async with leased as sizes:
            answer.set_result(LoadAnswer(sizes))
            await asyncio.Event().wait()
    except Exception as error:
        answer.set_result(LoadAnswer(None, str(error), is_damage(error)))
