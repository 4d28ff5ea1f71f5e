"""The models that an engine process has in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from model.backends.device_lost import DeviceLost
from model.backends.memory import give_memory_back
from model.checkpoint import read_info
from service.engine.engine import Engine
from service.engine.worker import lower_own_priority
from service.models.loading import LoadedModel, StartupError, memory_limit
from service.models.store import ModelStore, StoredModel
from service.models.versions import LocalVersions, ModelShare
from service.observability.metrics import Metrics
from service.processes.held_models import LoadedEngine
from service.processes.messages import ModelFiles, ModelSizes
from service.settings import Settings


class EngineModels:
    """Models that are there from the start, by name, and those of a store that a front end has
    loaded. Used on the event loop."""

    def __init__(self, settings: Settings, pinned: Sequence[LoadedModel], metrics: Metrics) -> None:
        """`pinned`: those from the start. Raises StartupError."""
        self._metrics = metrics
        self._store = ModelStore(settings.models_dir) if settings.models_dir else None
        limit = memory_limit(settings) if self._store else 0
        share = ModelShare(settings, limit, len(pinned))
        self._versions = LocalVersions(share, metrics, niceness=0)
        self.pinned: Mapping[str, LoadedEngine] = {one.name: self._entered(one) for one in pinned}
        self._newest: dict[str, LoadedEngine] = {}
        """Of the models of the store, which metrics are of."""
        self.turn = asyncio.Lock()
        """To load a model or to let one go."""
        self._loader = ThreadPoolExecutor(1, "dragoman-load", lower_own_priority)

    @property
    def engines(self) -> dict[str, Engine]:
        """Those of the newest versions, by name."""
        return {name: one.engine for name, one in {**self.pinned, **self._newest}.items()}

    def start(self) -> None:
        """Start the engines of the pinned models on the running event loop."""
        for one in self.pinned.values():
            one.engine.start()

    def stop(self) -> None:
        """Fail all running and waiting work of the pinned models, and wait until it ends."""
        self._loader.shutdown(wait=False, cancel_futures=True)
        for one in self.pinned.values():
            one.engine.stop()

    async def load(self, files: ModelFiles) -> LoadedEngine:
        """As of a `ModelLoader`, of a model of the store."""
        loop = asyncio.get_running_loop()
        loaded = await loop.run_in_executor(self._loader, self._load, files)
        self._newest[files.name] = loaded
        metrics = self._metrics.of_model(files.name)
        metrics.watch_engine(loaded.engine.gauges, loaded.sizes.num_bytes)
        loaded.engine.start()
        return loaded

    async def let_go(self, loaded: LoadedEngine) -> None:
        """As of a `ModelLoader`, likewise."""
        if self._newest.get(loaded.name) is loaded:
            del self._newest[loaded.name]
            self._metrics.of_model(loaded.name).forget_model()
        await asyncio.to_thread(loaded.engine.stop)
        await asyncio.to_thread(give_memory_back)

    def _entered(self, model: LoadedModel) -> LoadedEngine:
        started = time.monotonic()
        try:
            engine = self._versions.serve(model).engine
        except (MemoryError, OSError, ValueError, DeviceLost) as error:
            raise StartupError(f"{model.name}: {error}") from error
        metrics = self._metrics.of_model(model.name)
        metrics.count_load(time.monotonic() - started)
        metrics.watch_engine(engine.gauges, model.num_bytes)
        return LoadedEngine(model.name, engine, _sizes_of(engine, model.num_bytes))

    def _load(self, files: ModelFiles) -> LoadedEngine:
        assert self._store is not None
        path = Path(files.path)
        stored = StoredModel(files.name, path, read_info(path), files.version, 0, None)
        version = self._versions.of_store(self._store, stored, is_pinned=False)
        engine = version.pooled.loadable.open()().engine
        return LoadedEngine(files.name, engine, _sizes_of(engine, version.num_bytes))


def _sizes_of(engine: Engine, num_bytes: int) -> ModelSizes:
    return ModelSizes(engine.max_beam_size, engine.max_target_tokens, num_bytes)
