"""The models that requests may ask for: those of the setting model, and those that the store has
now.

    the store ── seen every five seconds ──> new and removed models: offered at once
                                        └──> new versions of models in memory: offered once loaded

What is offered changes in one step, for the routes and the pool alike, and one change at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Generic

from service.errors import InvalidField, NotReady, shown
from service.models.pool import ModelPool
from service.models.served import ModelState
from service.models.sizing import DoesNotFit, shown_bytes
from service.models.store import ModelStore, StoreContents, StoredModel
from service.models.versions import ModelVersion, ServedT, VersionMaker
from service.observability.metrics import Metrics
from service.periodic import repeated
from service.settings import Settings
from service.settings.startup import StartupError
from service.translation.dispatcher import Dispatcher
from service.translation.routing import Routes

_logger = logging.getLogger(__name__)
_SCAN_SECONDS = 5.0


class ModelRegistry(Generic[ServedT]):
    """Owns what is offered; the dispatcher and the pool follow it."""

    def __init__(
        self,
        settings: Settings,
        maker: VersionMaker[ServedT],
        own: Sequence[ModelVersion[ServedT]],
        store: ModelStore | None,
        pool: ModelPool[ServedT],
        metrics: Metrics,
    ) -> None:
        """`own`: the models of the setting model. Raises StartupError."""
        self._metrics = metrics
        self._preload = settings.preload
        self._prefers_store = settings.prefers_directory
        self._maker, self._own, self._store = maker, own, store
        self._stored: dict[str, ModelVersion[ServedT]] = {}
        self._unloadable: dict[str, tuple[str, str]] = {}
        """Versions that cannot be loaded and why, by name."""
        self._told: Mapping[str, str] = {}
        """The faults that were logged, by name."""
        self._changing = asyncio.Lock()
        self._noted_seconds = time.monotonic()
        """When the store was last told of uses."""
        self.pool = pool
        self.dispatcher = Dispatcher([], pool, settings.max_beam_size)
        self._begin()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start the engines and follow the store inside the block; at its end stop the engines."""
        self.pool.start()
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.pool.stop)
            if self._store is not None:
                await stack.enter_async_context(repeated(self.follow_store, _SCAN_SECONDS))
            yield

    @property
    def offered(self) -> list[ModelVersion[ServedT]]:
        """All models in order of their routes."""
        return self._ordered(self._stored)

    @property
    def pinned(self) -> list[ModelVersion[ServedT]]:
        """Those that never leave."""
        return [version for version in self.offered if version.pooled.is_pinned]

    @property
    def names(self) -> Sequence[str]:
        return list(self.pool.models)

    @property
    def may_change(self) -> bool:
        return self._store is not None

    def require_ready(self) -> None:
        self.pool.require_ready()

    def refuse_new_work(self) -> None:
        self.pool.refuse_new_work()

    async def states(self) -> list[ModelState]:
        return self.own_states()

    def own_states(self) -> list[ModelState]:
        """As this process sees them."""
        return [_state_of(version) for version in self.offered]

    async def follow_store(self) -> None:
        """Offer the models that the store has now, in their current versions. A model in memory
        stays while the store's version of it cannot be served."""
        async with self._changing:
            await self._note_uses()
            if not self.pool.is_draining and (found := await self._look()):
                await self._follow(found)

    async def look_again(self, name: str) -> None:
        """Offer what the store has now. Another process has loaded the model of this name."""
        self._unloadable.pop(name, None)
        await self.follow_store()

    async def reload(self, name: str) -> ModelState:
        """Take the version of a model that the store has now, and load it if the model is in
        memory. Raises NotReady if that fails, and the model stays as it is; InvalidField if the
        store has none of that name."""
        if self._store is None:
            raise InvalidField("only models of a store are loaded again (setting models_dir)")
        async with self._changing:
            self._unloadable.pop(name, None)
            found = await self._look()
            if found is None or name in found.faults:
                raise _cannot_reload(name)
            if name not in found.models:
                names = ", ".join(found.models) or "none"
                raise InvalidField(f"model must be one of the store ({names}), got {shown(name)}")
            new = self._version_of(found.models[name])
            if not await self._offer_version(new):
                raise _cannot_reload(name)
            return _state_of(new)

    async def _note_uses(self) -> None:
        """Tell the store which of its models were used since it was told last; loads tell it
        themselves."""
        since, self._noted_seconds = self._noted_seconds, time.monotonic()
        for name, version in list(self._stored.items()):
            resident = version.pooled.resident
            if self._store and resident and resident.last_seconds >= since:
                await asyncio.to_thread(self._store.note_use, name)

    async def _look(self) -> StoreContents | None:
        """What the store has and this server can serve. None, logged once, if it cannot be
        read."""
        for version in self._stored.values():
            if version.pooled.is_damaged:
                self._unloadable[version.name] = version.version, version.pooled.failure or ""
        try:
            found = await asyncio.to_thread(self._servable)
        except OSError as error:
            self._tell({**self._told, "": _unreadable(error)})
            return None
        self._tell_faults(found)
        return found

    def _tell(self, faults: Mapping[str, str]) -> list[str]:
        """Log each fault once, until it changes or ends -> the names of what is new."""
        new = [name for name, message in faults.items() if self._told.get(name) != message]
        for name in new:
            _logger.warning("%s", faults[name])
        self._told = faults
        return new

    def _tell_faults(self, found: StoreContents) -> None:
        """Log and count the versions that are not taken, unless their load has failed and was
        counted."""
        for name in self._tell(_told_of(found)):
            if self._unloadable.get(name, ("", ""))[1] != found.faults[name]:
                self._metrics.of_loads(name).count_load_failure()

    def _servable(self) -> StoreContents:
        """What the store has and this server can serve. Raises OSError."""
        found = self._store.contents() if self._store else StoreContents({}, {})
        pinned = {one.name: one.num_bytes for one in self.pinned}
        models, faults = {}, dict(found.faults)
        for name, stored in found.models.items():
            try:
                self._require_servable(stored, sum(pinned.values()) - pinned.get(name, 0))
                models[name] = stored
            except (DoesNotFit, StartupError) as error:
                faults[name] = str(error)
        return StoreContents(models, faults)

    def _require_servable(self, stored: StoredModel, others_bytes: int) -> None:
        """Raise DoesNotFit or StartupError if a model of the store cannot be served.
        `others_bytes`: of the other models that never leave."""
        if any(stored.name == version.name for version in self._own):
            raise DoesNotFit("a model of the setting model has its name")
        if self._maker.num_bytes(stored) + others_bytes > self.pool.limit:
            raise DoesNotFit("it does not fit beside the models that never leave")
        version, reason = self._unloadable.get(stored.name, ("", ""))
        if version == stored.version:
            raise StartupError(reason)

    async def _follow(self, found: StoreContents) -> None:
        """Offer what was found; first what needs no load."""
        stored = {
            name: version
            for name, version in self._stored.items()
            if name in found.models or (name in found.faults and version.pooled.resident)
        }
        changed = [
            self._version_of(model)
            for name, model in found.models.items()
            if name not in stored or stored[name].version != model.version
        ]
        to_load = [new for new in changed if self._needs_load(new)]
        stored |= {new.name: new for new in changed if new not in to_load}
        if stored != self._stored:
            self._switch(stored, await _routes_over(self._ordered(stored)))
        for new in to_load:
            await self._offer_version(new)

    async def _offer_version(self, new: ModelVersion[ServedT]) -> bool:
        """Offer a version, once it is loaded if it must be -> whether it could be."""
        stored = {**self._stored, new.name: new}
        routes = await _routes_over(self._ordered(stored))
        if self._needs_load(new):
            try:
                await self.pool.load(new.pooled)
            except NotReady:
                self._unloadable[new.name] = new.version, new.pooled.failure or ""
                return False
        self._switch(stored, routes)
        return True

    def _needs_load(self, new: ModelVersion[ServedT]) -> bool:
        """Whether it is loaded before it is offered: it is pinned, or takes the place of a version
        in memory."""
        old = self._stored.get(new.name)
        return new.pooled.is_pinned or (old is not None and old.pooled.resident is not None)

    def _ordered(self, stored: Mapping[str, ModelVersion[ServedT]]) -> list[ModelVersion[ServedT]]:
        """Those of the setting model in its order, then those of the store, the cheapest first; or
        these first."""
        of_store = sorted(stored.values(), key=lambda one: (one.offered.work, one.name))
        if self._prefers_store:
            return [*of_store, *self._own]
        return [*self._own, *of_store]

    def _switch(self, stored: dict[str, ModelVersion[ServedT]], routes: Routes) -> None:
        """Offer these models of the store from now on. `routes`: over them and the server's own."""
        self._stored = stored
        self.pool.offer(version.pooled for version in self.offered)
        self.dispatcher.routes = routes

    def _version_of(self, stored: StoredModel) -> ModelVersion[ServedT]:
        assert self._store is not None
        return self._maker.of_store(self._store, stored, is_pinned=stored.name in self._preload)

    def _begin(self) -> None:
        """Offer what the store has. Raises StartupError."""
        try:
            found = self._servable()
        except OSError as error:
            raise StartupError(_unreadable(error)) from error
        self._tell_faults(found)
        for name in self._preload:
            if name not in found.models:
                reason = self._told.get(name, f"the store has no model {name}")
                raise StartupError(f"setting preload: {reason}")
        stored = {name: self._version_of(model) for name, model in found.models.items()}
        offered = self._ordered(stored)
        if not offered:
            assert self._store is not None
            raise StartupError(
                f"{self._store.directory} holds no model that can be served; "
                "`dragoman models pull` adds one"
            )
        num_bytes = sum(version.num_bytes for version in offered if version.pooled.is_pinned)
        if num_bytes > self.pool.limit:
            raise StartupError(
                f"the models that never leave need {shown_bytes(num_bytes)}, and "
                f"memory_limit is {shown_bytes(self.pool.limit)}"
            )
        self._switch(stored, Routes([version.offered for version in offered]))


async def _routes_over(offered: Iterable[ModelVersion[ServedT]]) -> Routes:
    """The routes with what /languages needs, which takes a while to compute."""

    def make() -> Routes:
        routes = Routes([version.offered for version in offered])
        assert routes.direct_pairs is not None
        return routes

    return await asyncio.to_thread(make)


def _state_of(version: ModelVersion[ServedT]) -> ModelState:
    offered, model = version
    held = model.resident
    return ModelState(
        name=model.name,
        state="loading" if model.is_loading else "loaded" if held else "stored",
        is_pinned=model.is_pinned,
        num_bytes=held.num_bytes if held else model.loadable.num_bytes,
        num_leases=held.num_leases if held else 0,
        sources=offered.sources,
        targets=sorted({target for _, target in offered.pairs}),
    )


def _told_of(found: StoreContents) -> dict[str, str]:
    """The faults in words, by name."""
    return {name: f"the model {name} is not taken: {why}" for name, why in found.faults.items()}


def _unreadable(error: OSError) -> str:
    return f"the store of models cannot be read: {error}"


def _cannot_reload(name: str) -> NotReady:
    return NotReady(f"the model {name} cannot be loaded again; the log says why")
