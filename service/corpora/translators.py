"""What a command translates with: the engine of this process, or as many processes as the machine
has cores or GPUs for."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from service.corpora.translations import (
    DocumentTranslation,
    Translation,
    Translators,
    translate_document,
    translate_texts,
)
from service.documents.file_translator import FileJob, OnProgress
from service.errors import ServiceError
from service.models.loading import describe_models, load_models
from service.models.versions import offered_model
from service.offline import (
    FILL,
    OfflineOptions,
    OfflineTranslator,
    needed_models,
    offline_settings,
    template_job,
    unbounded_files,
)
from service.processes.topology import Topology, topology_of
from service.settings import Settings
from service.translation.job import AUTO, TranslationJob
from service.translation.routing import Routes, require_glossary
from service.translation.translator import TranslationModel

if TYPE_CHECKING:
    from service.corpora.processes import TranslatorProcesses

_GPU_SLOTS = 4096
"""The most that an engine chooses."""


@contextlib.contextmanager
def translators_of(
    models: Sequence[Path],
    options: OfflineOptions,
    source: str,
    target: str,
    *,
    is_checked: bool = False,
    in_one_process: bool = False,
) -> Iterator[Translators]:
    """What translates from one language, which may be "auto", into another.
    `in_one_process`: for little, or where others share the machine. Raises ValueError."""
    template = dataclasses.replace(
        template_job(options), source=source, target=target, is_checked=is_checked
    )
    paths = needed_models(models, None if source == AUTO else (source, target))
    settings = offline_settings(paths, options)
    topology = Topology([]) if in_one_process else topology_of(settings)
    if topology.num_front_ends > 1:  # with one, a process of its own costs more than it gives
        with _processes(settings, topology, options.beam_size, template) as processes:
            yield processes
        return
    with OfflineTranslator(paths, options) as translator:
        _require_route(translator.routes, template)
        yield _InThisProcess(translator, template)


def _processes(
    settings: Settings, topology: Topology, beam_size: int | None, template: TranslationJob
) -> TranslatorProcesses:
    """Engines that share their weights, or load their own. Raises ValueError."""
    from service.corpora.processes import TranslatorProcesses  # one process needs none of it

    engines, shared, num_slots = topology.engines, None, _GPU_SLOTS
    if topology.shares_weights:
        shared = load_models(engines[0], beam_size)
        num_slots = max(model.sizes.max_slots for model in shared)
    models: Sequence[TranslationModel] = shared or describe_models(settings)
    _require_route(Routes([*map(offered_model, models)]), template)
    for model in shared or ():
        model.read_weights()
    num_texts = FILL * num_slots * len(engines)
    return TranslatorProcesses(
        engines, shared, topology.num_front_ends, models, template, num_texts
    )


class _InThisProcess:
    def __init__(self, translator: OfflineTranslator, template: TranslationJob) -> None:
        self._translator, self._template = translator, template
        self.num_texts = FILL * translator.max_slots

    def submit(self, texts: Sequence[str], source: str | None = None) -> Future[list[Translation]]:
        job = dataclasses.replace(self._template, source=source or self._template.source)
        return self._translator.submit(lambda dispatcher: translate_texts(dispatcher, job, texts))

    def submit_document(
        self, name: str, content: bytes, on_progress: OnProgress, *, replaces: bool
    ) -> Future[DocumentTranslation]:
        work = FileJob(name, content, self._template, replaces)
        return self._translator.submit(
            lambda dispatcher: translate_document(
                unbounded_files(dispatcher, self.num_texts), work, on_progress
            )
        )


def _require_route(routes: Routes, job: TranslationJob) -> None:
    """Raise ValueError unless a route exists; the source may be "auto"."""
    try:
        if job.source == AUTO:
            routes.require_known("target", job.target)
            return
        route = routes.require(job.source, job.target)
        if job.glossary is not None:
            require_glossary(job.glossary, route)
    except ServiceError as error:
        raise ValueError(str(error)) from error
