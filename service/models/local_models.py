"""Models that this process has in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from service.engine.worker import NICENESS
from service.models.loading import LoadedModel, memory_limit
from service.models.pool import ModelPool
from service.models.registry import ModelRegistry
from service.models.served import Batches
from service.models.store import ModelStore
from service.models.versions import LocalTranslator, LocalVersions, ModelShare
from service.observability.metrics import Metrics
from service.settings import Settings
from service.settings.startup import startup_errors


class LocalModels(ModelRegistry[LocalTranslator]):
    """Models whose engines are in this process."""

    def __init__(
        self,
        settings: Settings,
        pinned: Sequence[LoadedModel],
        metrics: Metrics,
    ) -> None:
        """Load the pinned models and those to preload; `running` starts their engines. Raises
        StartupError."""
        store = ModelStore(settings.models_dir) if settings.models_dir else None
        num_bytes = sum(model.num_bytes for model in pinned)
        limit = memory_limit(settings) if store else num_bytes
        maker = LocalVersions(ModelShare(settings, limit, len(pinned)), metrics, NICENESS)
        pool = ModelPool[LocalTranslator](limit, settings.max_waiting_sentences)
        own = [*map(maker.of_setting, pinned)]
        super().__init__(settings, maker, own, store, pool, metrics)
        for version in self.pinned:
            with startup_errors(version.name):
                self.pool.load_now(version.pooled)

    async def stop(self) -> None:
        """Wait until the engines end, too."""
        await asyncio.to_thread(self.pool.stop)

    async def batches(self, since: float) -> Batches:
        engines = {name: model.engine for name, model in self.pool.loaded.items()}
        return Batches.of(engines, since)

    async def render_metrics(self) -> bytes:
        return self._metrics.render()

    async def render_engines(self) -> bytes:
        return self._metrics.render_engines()
