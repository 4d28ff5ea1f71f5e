"""Make the pool of models, with pinned ones in memory and those of the store on demand, and the
dispatcher over all."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, Sequence

from model.checkpoint import CheckpointInfo
from model.device_lost import DeviceLost
from service import __version__
from service.engine.engine import Engine, EngineLimits
from service.engine.pool import Loadable, ModelPool, PooledModel
from service.engine.worker import Worker
from service.errors import InvalidField, NotReady, shown
from service.loading import (
    LoadedModel,
    StartupError,
    load_within,
    memory_limit,
    plan_model,
)
from service.model_store import ModelStore, StoredModel
from service.observability.metrics import Metrics
from service.periodic import repeated
from service.settings import Settings
from service.sizing import DoesNotFit, shown_bytes, work_per_token
from service.translation.dispatcher import Dispatcher
from service.translation.routing import OfferedModel, Routes
from service.translation.translator import Translator

_logger = logging.getLogger(__name__)
_MOST_REBUILDS = 5
"""Failed rebuilds in a row after which a process with a GPU ends; a new one may find it well."""
_USUAL_LOADED = 4
"""Models of a store in memory, which divide the cache of sentences."""
_SCAN_SECONDS = 5.0


class Models:
    """The pool and the dispatcher, which follow the store."""

    def __init__(self, settings: Settings, pinned: Sequence[LoadedModel], metrics: Metrics) -> None:
        """Load the pinned models and those to preload; `running` starts their engines. Raises
        StartupError."""
        self._settings, self._metrics = settings, metrics
        self._busy_workers: set[Worker] = set()
        self._pinned = [_offer_loaded(model) for model in pinned]
        self._pinned_bytes = sum(model.num_bytes for model in pinned)
        self._stored: dict[str, OfferedModel] = {}
        self._refused: dict[str, str] = {}
        """Versions that could not be taken, by model."""
        self._is_unreadable = False
        self._store = ModelStore(settings.models_dir) if settings.models_dir else None
        limit = memory_limit(settings) if self._store else self._pinned_bytes
        self.pool: ModelPool[Translator] = ModelPool(limit, settings.max_waiting_sentences)
        for model in pinned:
            load = functools.partial(self._serve, model)
            self._pin(model.name, Loadable("", load, model.num_bytes))
        self._preload()
        self.dispatcher = Dispatcher(self._offered(), self.pool, settings.max_beam_size)

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
    def offered(self) -> dict[str, OfferedModel]:
        """All models by name."""
        return {offered.name: offered for offered in self.dispatcher.routes.models}

    @property
    def may_change(self) -> bool:
        """Whether models come and go, as those of a store do."""
        return self._store is not None

    @property
    def num_stored(self) -> int:
        """The models of the store that are offered."""
        return len(self._stored)

    async def follow_store(self) -> None:
        """Offer the models that the store has now, in their current versions. If it cannot be read,
        that is logged once and nothing changes."""
        if self.pool.is_draining:
            return
        try:
            found = await asyncio.to_thread(self._servable)
        except OSError as error:
            if not self._is_unreadable:
                _logger.warning("the store of models cannot be read: %s", error)
            self._is_unreadable = True
            return
        self._is_unreadable = False
        has_changed = found.keys() != self._stored.keys()
        for name in self._stored.keys() - found.keys():
            self.pool.remove(name)
            del self._stored[name]
        for name, stored in found.items():
            if name not in self._stored:
                self._add(stored)
            elif stored.version not in (
                self.pool.models[name].loadable.version,
                self._refused.get(name),
            ):
                has_changed |= await self._take(stored)
        if has_changed:
            routes = await asyncio.to_thread(_complete, self._offered())
            self.dispatcher.routes = routes

    async def reload(self, name: str) -> None:
        """Load the version of a model that the store has now. Raises NotReady if that fails, and
        the model stays as it is; InvalidField if the store has none of that name."""
        found = await asyncio.to_thread(self._servable)
        if name not in found or name not in self._stored:
            names = ", ".join(self._stored) or "none"
            raise InvalidField(f"model must be one of the store ({names}), got {shown(name)}")
        if not await self._take(found[name]):
            raise NotReady(f"the model {name} cannot be loaded again; the log says why")

    def _servable(self) -> dict[str, StoredModel]:
        """The models of the store that can be served, the cheapest first."""
        assert self._store is not None
        found: dict[str, StoredModel] = {}
        taken = {offered.name for offered in self._pinned}
        for stored in self._store.models():
            try:
                if stored.name in taken:
                    raise DoesNotFit("a model of the setting model has its name")
                is_pinned = stored.name in self._settings.preload
                if not is_pinned and self._num_bytes(stored) + self._pinned_bytes > self.pool.limit:
                    raise DoesNotFit("it does not fit beside the models that never leave")
            except (DoesNotFit, StartupError) as error:
                if self._refused.get(stored.name) != stored.version:
                    _logger.warning("the model %s is not offered: %s", stored.name, error)
                self._refused[stored.name] = stored.version
                continue
            found[stored.name] = stored
        return found

    def _offered(self) -> list[OfferedModel]:
        """Those of the setting model in its order, then those of the store, the cheapest first."""
        stored = sorted(self._stored.values(), key=lambda offered: (offered.work, offered.name))
        return [*self._pinned, *stored]

    def _preload(self) -> None:
        """Add the models of the store, and load some of them. Raises StartupError."""
        found = self._servable() if self._store else {}
        if missing := [name for name in self._settings.preload if name not in found]:
            raise StartupError(f"setting preload: the store has no model {missing[0]}")
        preloaded = [self._num_bytes(found[name]) for name in self._settings.preload]
        self._pinned_bytes += sum(preloaded)
        if self._pinned_bytes > self.pool.limit:
            raise StartupError(
                f"the models that never leave need {shown_bytes(self._pinned_bytes)}, and "
                f"memory_limit is {shown_bytes(self.pool.limit)}"
            )
        for name, stored in found.items():
            if name in self._settings.preload:
                self._stored[name] = _offer(stored.info)
                self._pin(name, self._loadable(stored))
            else:
                self._add(stored)
        if not self._offered():
            raise StartupError(
                f"{self._settings.models_dir} holds no model that can be served; "
                "`dragoman models pull` adds one"
            )

    def _pin(self, name: str, loadable: Loadable[Translator]) -> None:
        try:
            self.pool.load_now(
                PooledModel(name, loadable, self._metrics.of_model(name), is_pinned=True)
            )
        except (MemoryError, OSError, ValueError, DeviceLost) as error:
            raise StartupError(f"{name}: {error}") from error

    def _add(self, stored: StoredModel) -> None:
        self._stored[stored.name] = _offer(stored.info)
        metrics = self._metrics.of_model(stored.name)
        self.pool.add(PooledModel(stored.name, self._loadable(stored), metrics))

    async def _take(self, stored: StoredModel) -> bool:
        """Take this version of a model, if it can be loaded."""
        if not await self.pool.replace(stored.name, self._loadable(stored)):
            self._refused[stored.name] = stored.version
            return False
        self._stored[stored.name] = _offer(stored.info)
        return True

    def _loadable(self, stored: StoredModel) -> Loadable[Translator]:
        load = functools.partial(self._load, stored)
        return Loadable(stored.version, load, self._num_bytes(stored), stored.num_bytes)

    def _num_bytes(self, stored: StoredModel) -> int:
        """The memory of a model of the store. Raises DoesNotFit or StartupError."""
        plan = plan_model(stored.path, stored.info, self._settings)
        return plan.num_bytes(plan.sizes_within(self.pool.limit)) + self._cache_bytes

    def _load(self, stored: StoredModel) -> Translator:
        assert self._store is not None
        self._store.note_use(stored.name)
        return self._serve(load_within(stored.path, self._settings, self.pool.limit))

    @property
    def _cache_bytes(self) -> int:
        """The cache of finished sentences of one model."""
        num_models = len(self._pinned) + (_USUAL_LOADED if self._store else 0)
        return self._settings.cache_bytes // num_models

    def _serve(self, model: LoadedModel) -> Translator:
        """The model with its engine, which is not started."""
        settings, metrics_ = self._settings, self._metrics.of_model(model.name)
        bounds = EngineLimits(
            max_waiting_sentences=settings.max_waiting_sentences,
            max_waiting_tokens=settings.max_waiting_tokens,
            max_prefill_tokens=model.max_prefill_tokens,
            is_preemptive=settings.scheduling == "short-first",
            cache_bytes=self._cache_bytes,
        )
        most_rebuilds = _MOST_REBUILDS if model.device.startswith("cuda") else None
        engine = Engine(model.make_runners, metrics_, bounds, self._busy_workers, most_rebuilds)
        metrics_.describe_model(__version__, model.device, model.precision, model.instruction_set)
        sizes = {"slots": model.sizes.max_slots, "rows": model.sizes.max_rows}
        metrics_.watch_engine(lambda: {**engine.gauges(), **sizes})
        return Translator(model, engine)


def _offer_loaded(model: LoadedModel) -> OfferedModel:
    work = work_per_token(model.inspected.config)
    return OfferedModel(model.name, model.pairs, model.own_codes, model.decoding, work)


def _offer(info: CheckpointInfo) -> OfferedModel:
    work = work_per_token(info.architecture)
    return OfferedModel(info.name, info.pairs, info.own_codes, info.decoding, work)


def _complete(models: Sequence[OfferedModel]) -> Routes:
    """The routes with what /languages needs, which takes a while to compute."""
    routes = Routes(models)
    assert routes.direct_pairs is not None
    return routes
