"""Versions of models that engine processes load."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from service.models.loading import LoadedModel, describe
from service.models.pooled import Loadable, PooledModel
from service.models.store import ModelStore, StoredModel
from service.models.versions import (
    ModelShare,
    ModelVersion,
    ServedTranslator,
    offered_checkpoint,
    offered_model,
)
from service.observability.metrics import Metrics
from service.processes.engine_processes import EngineProcesses
from service.processes.messages import ModelFiles
from service.processes.remote_engine import RemoteEngine
from service.translation.translator import TranslationModel


class RemoteTranslator(ServedTranslator):
    """A translator whose engines are in other processes."""

    engine: RemoteEngine

    def __init__(self, model: TranslationModel, engine: RemoteEngine) -> None:
        super().__init__(model, engine)


@dataclass(eq=False, kw_only=True)
class _RemoteModel(PooledModel[RemoteTranslator]):
    """A version of a model of the store."""

    files: ModelFiles


class RemoteVersions:
    """Makes versions of models that are loaded into each engine process."""

    def __init__(
        self,
        share: ModelShare,
        num_engines: int,
        metrics: Metrics,
        processes: EngineProcesses,
    ) -> None:
        """`share`: of a model in one engine process; `num_engines`: each has its own copy."""
        self._share, self._num_engines = share, num_engines
        self._metrics, self._processes = metrics, processes
        self._numbers = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Ask the processes on the running event loop."""
        self._loop = asyncio.get_running_loop()

    def of_setting(self, model: TranslationModel) -> ModelVersion[RemoteTranslator]:
        """A model that the engine processes have from the start. They tell the bytes of one that is
        only described."""
        num_bytes = model.num_bytes if isinstance(model, LoadedModel) else 0
        num_bytes *= self._num_engines
        loadable = Loadable("", lambda: functools.partial(self._adopt, model), num_bytes)
        metrics = self._metrics.of_loads(model.name)
        pooled = PooledModel(model.name, loadable, metrics, is_pinned=True)
        return ModelVersion(offered_model(model), pooled)

    def of_store(
        self, store: ModelStore, stored: StoredModel, *, is_pinned: bool
    ) -> ModelVersion[RemoteTranslator]:
        """A model of the store. Raises DoesNotFit or StartupError."""
        loadable = Loadable(
            stored.version,
            functools.partial(self._open, store, stored),
            self.num_bytes(stored),
            stored.num_bytes,
        )
        metrics = self._metrics.of_loads(stored.name)
        pooled = _RemoteModel(stored.name, loadable, metrics, is_pinned, files=_files_of(stored))
        return ModelVersion(offered_checkpoint(stored.info), pooled)

    def reserved(
        self, models: Sequence[PooledModel[RemoteTranslator]]
    ) -> AbstractAsyncContextManager[None]:
        """As of a `ModelPool`."""
        files = [one.files for one in models if isinstance(one, _RemoteModel)]
        return self._processes.reserved(files) if len(files) > 1 else contextlib.nullcontext()

    def num_bytes(self, stored: StoredModel) -> int:
        """The memory of a model of the store in all processes. Raises DoesNotFit or
        StartupError."""
        return self._num_engines * self._share.num_bytes(stored)

    def pinned_bytes(self, name: str) -> int:
        """Of a model that the engine processes have from the start."""
        return self._num_engines * self._processes.pinned[name].num_bytes

    def _adopt(self, model: TranslationModel) -> RemoteTranslator:
        engine = self._processes.engine(model.name, self._processes.pinned[model.name])
        return RemoteTranslator(model, engine)

    def _open(self, store: ModelStore, stored: StoredModel) -> Callable[[], RemoteTranslator]:
        model = describe(stored.path, self._share.settings)
        store.require_current(stored)
        store.note_use(stored.name)
        return functools.partial(self._load, model, stored)

    def _load(self, model: TranslationModel, stored: StoredModel) -> RemoteTranslator:
        """Runs in a thread."""
        assert self._loop is not None
        key = f"{stored.name} {next(self._numbers)}"
        loading = self._processes.load(key, _files_of(stored))
        engine = asyncio.run_coroutine_threadsafe(loading, self._loop).result()
        return RemoteTranslator(model, engine)


def _files_of(stored: StoredModel) -> ModelFiles:
    return ModelFiles(stored.name, str(stored.path), stored.version)
