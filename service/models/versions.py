"""The versions of models that are offered: how each is loaded, with an engine of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from model.backends.shared_files import SharedFiles
from model.checkpoint import CheckpointInfo
from service import __version__
from service.engine.engine import Engine, EngineLimits
from service.engine.pooled_engine import PooledEngine
from service.engine.worker import Worker
from service.models.loading import LoadedModel, ModelPlan, open_within, plan_model
from service.models.pooled import Loadable, PooledModel
from service.models.sizing import work_per_token
from service.models.store import ModelStore, StoredModel
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.routing import OfferedModel
from service.translation.translator import TranslationModel, Translator

_USUAL_OF_A_STORE = 4
_MOST_REBUILDS = 5
"""Failed rebuilds in a row after which a process with a GPU ends: in a new one the GPU may work."""


class ServedTranslator(Translator):
    """A translator of a model that comes into memory and leaves it."""

    engine: PooledEngine


class LocalTranslator(ServedTranslator):
    """A translator whose engine is in this process."""

    engine: Engine

    def __init__(self, model: LoadedModel, engine: Engine) -> None:
        super().__init__(model, engine)


ServedT = TypeVar("ServedT", bound=ServedTranslator)


class ModelVersion(NamedTuple, Generic[ServedT]):
    """A version of a model: what it offers to requests, and its place in the pool."""

    offered: OfferedModel
    pooled: PooledModel[ServedT]

    @property
    def name(self) -> str:
        return self.pooled.name

    @property
    def version(self) -> str:
        return self.pooled.loadable.version

    @property
    def num_bytes(self) -> int:
        """In memory."""
        return self.pooled.loadable.num_bytes


class ModelShare(NamedTuple):
    """What a model has of the memory of its process. `limit`: bytes of all models of a store;
    `num_pinned`: models beside these; `shared`: where processes have weights once; `plan`: as
    `plan_model`."""

    settings: Settings
    limit: int
    num_pinned: int
    shared: SharedFiles | None = None
    plan: Callable[[Path, CheckpointInfo, Settings, SharedFiles | None], ModelPlan] = plan_model

    @property
    def cache_bytes(self) -> int:
        """The cache of sentences is divided for the models that are usually in memory."""
        of_store = _USUAL_OF_A_STORE if self.settings.models_dir else 0
        return self.settings.cache_bytes // max(1, self.num_pinned + of_store)

    def num_bytes(self, stored: StoredModel) -> int:
        """Of a model of the store. Raises DoesNotFit or StartupError."""
        plan = self.plan(stored.path, stored.info, self.settings, self.shared)
        return plan.num_bytes(plan.sizes_within(self.limit)) + self.cache_bytes


class VersionMaker(Protocol[ServedT]):
    """Makes versions of the models of a store, none of which is loaded yet."""

    def of_store(
        self, store: ModelStore, stored: StoredModel, *, is_pinned: bool
    ) -> ModelVersion[ServedT]:
        """Raises DoesNotFit or StartupError."""
        ...

    def num_bytes(self, stored: StoredModel) -> int:
        """The memory of a model of the store. Raises DoesNotFit or StartupError."""
        ...


class LocalVersions:
    """Makes versions of models that are loaded into this process."""

    def __init__(self, share: ModelShare, metrics: Metrics, niceness: int) -> None:
        """`niceness`: of the workers."""
        self._share, self._metrics = share, metrics
        self._busy_workers: set[Worker] = set()
        self._niceness = niceness

    def of_setting(self, model: LoadedModel) -> ModelVersion[LocalTranslator]:
        """A model of the setting model, which is pinned."""
        loadable = Loadable("", lambda: functools.partial(self.serve, model), model.num_bytes)
        metrics = self._metrics.of_model(model.name)
        pooled = PooledModel(model.name, loadable, metrics, is_pinned=True)
        return ModelVersion(offered_model(model), pooled)

    def of_store(
        self, store: ModelStore, stored: StoredModel, *, is_pinned: bool
    ) -> ModelVersion[LocalTranslator]:
        """A model of the store. Raises DoesNotFit or StartupError."""
        metrics = self._metrics.of_model(stored.name)
        loadable = Loadable(
            stored.version,
            functools.partial(self._open, store, stored),
            self.num_bytes(stored),
            stored.num_bytes,
        )
        pooled = PooledModel(stored.name, loadable, metrics, is_pinned)
        return ModelVersion(offered_checkpoint(stored.info), pooled)

    def num_bytes(self, stored: StoredModel) -> int:
        """The memory of a model of the store. Raises DoesNotFit or StartupError."""
        return self._share.num_bytes(stored)

    def _open(self, store: ModelStore, stored: StoredModel) -> Callable[[], LocalTranslator]:
        share = self._share
        load = open_within(stored.path, share.settings, share.limit, share.shared)
        store.require_current(stored)
        store.note_use(stored.name)
        return lambda: self.serve(load())

    def serve(self, model: LoadedModel) -> LocalTranslator:
        """The model with its engine, which is not started."""
        settings, metrics = self._share.settings, self._metrics.of_model(model.name)
        bounds = EngineLimits(
            max_waiting_sentences=settings.max_waiting_sentences,
            max_waiting_tokens=settings.max_waiting_tokens,
            max_prefill_tokens=model.max_prefill_tokens,
            is_preemptive=settings.scheduling == "short-first",
            cache_bytes=self._share.cache_bytes,
        )
        most_rebuilds = _MOST_REBUILDS if model.device.startswith("cuda") else None
        engine = Engine(
            model.make_runners,
            metrics,
            bounds,
            self._busy_workers,
            most_rebuilds,
            niceness=self._niceness,
        )
        metrics.describe_model(__version__, model.device, model.precision, model.instruction_set)
        return LocalTranslator(model, engine)


def offered_model(model: TranslationModel) -> OfferedModel:
    """Its languages, for the routes."""
    work = work_per_token(model.inspected.config)
    return OfferedModel(model.name, model.pairs, model.own_codes, model.decoding, work)


def offered_checkpoint(info: CheckpointInfo) -> OfferedModel:
    """The same, of a model that is not loaded."""
    work = work_per_token(info.architecture)
    return OfferedModel(info.name, info.pairs, info.own_codes, info.decoding, work)
