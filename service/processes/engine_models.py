"""The models that an engine process has in memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path

from model.backends.shared_files import SharedFiles
from model.checkpoint import CheckpointError, read_info
from service.engine.engine import Engine
from service.models.loading import LoadedModel, memory_limit
from service.models.pool import ModelPool
from service.models.pooled import PooledModel
from service.models.sizing import DoesNotFit
from service.models.store import ModelStore, StoredModel
from service.models.versions import LocalTranslator, LocalVersions, ModelShare
from service.observability.metrics import Metrics
from service.processes.held_models import LoadedEngine, SharedModels
from service.processes.messages import ModelFiles
from service.settings import Settings
from service.settings.startup import startup_errors

_logger = logging.getLogger(__name__)


class EngineModels:
    """Models that are there from the start, by name, and those of a store that front ends want.
    Used on the event loop."""

    def __init__(
        self,
        settings: Settings,
        pinned: Sequence[LoadedModel],
        metrics: Metrics,
        files: SharedFiles | None = None,
    ) -> None:
        """`pinned`: those from the start; `files`: for the weights of the others. Raises
        StartupError."""
        self._metrics, self._preload = metrics, settings.preload
        self._store = ModelStore(settings.models_dir) if settings.models_dir else None
        num_bytes = sum(model.num_bytes for model in pinned)
        limit = memory_limit(settings) if self._store else num_bytes
        share = ModelShare(settings, limit, len(pinned), files)
        self._versions = LocalVersions(share, metrics, niceness=0)
        self._pool = ModelPool[LocalTranslator](limit, settings.max_waiting_sentences, inf)
        own = [self._versions.of_setting(model).pooled for model in pinned]
        self._pool.offer(own)
        for version in own:
            with startup_errors(version.name):
                self._pool.load_now(version)
        self.pinned: Mapping[str, LoadedEngine] = {
            model.name: LoadedEngine.of(self._pool.loaded[model.name].engine, model.num_bytes)
            for model in pinned
        }
        self.shared = SharedModels(self._pool, self._version)

    @property
    def engines(self) -> dict[str, Engine]:
        """Those of the newest versions, by name."""
        models = self._pool.models.values()
        return {one.name: one.resident.loaded.engine for one in models if one.resident}

    def start(self) -> None:
        """Start the engines on the running event loop."""
        self._pool.start()

    def stop(self) -> None:
        """Fail all running and waiting work, and wait until the engines end."""
        self._pool.stop()

    def _version(self, files: ModelFiles, key: str) -> PooledModel[LocalTranslator]:
        """Of a model of the store. Raises CheckpointError or StartupError."""
        assert self._store is not None
        path, is_pinned = Path(files.path), files.name in self._preload
        try:
            stored = StoredModel(files.name, path, read_info(path), files.version, 0, None)
            pooled = self._versions.of_store(self._store, stored, is_pinned=is_pinned).pooled
        except ValueError as error:
            self._metrics.of_model(files.name).count_load_failure()
            _logger.error("the model %s cannot be loaded: %s", files.name, error)
            if isinstance(error, DoesNotFit):  # nor later
                raise CheckpointError(str(error)) from error
            raise
        pooled.own_key = key
        return pooled
