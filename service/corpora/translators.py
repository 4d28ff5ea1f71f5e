"""What translates a corpus: the engine of this process, or as many processes as the machine has
cores or GPUs for."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

from service.corpora.processes import TranslatorProcesses
from service.corpora.translations import Translation, Translators, translate_texts
from service.errors import ServiceError
from service.models.loading import describe_models, load_models
from service.models.versions import offered_model
from service.offline import (
    OfflineOptions,
    OfflineTranslator,
    needed_models,
    offline_settings,
    template_job,
)
from service.processes.topology import Topology, topology_of
from service.settings import Settings
from service.translation.job import AUTO, TranslationJob
from service.translation.routing import Routes, require_glossary
from service.translation.translator import TranslationModel

_FILL = 2
"""As many texts as slots keep the batches full, twice as many also while others are read."""
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
    `in_one_process`: for a few texts, or where others share the machine. Raises ValueError."""
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
        translator.check(source, target)
        yield _InThisProcess(translator, template)


def _processes(
    settings: Settings, topology: Topology, beam_size: int | None, template: TranslationJob
) -> TranslatorProcesses:
    """Engines that share their weights, or load their own. Raises ValueError."""
    engines, shared, num_slots = topology.engines, None, _GPU_SLOTS
    if topology.shares_weights:
        shared = load_models(engines[0], beam_size)
        num_slots = max(model.sizes.max_slots for model in shared)
    models: Sequence[TranslationModel] = shared or describe_models(settings)
    _require_route(models, template)
    for model in shared or ():
        model.read_weights()
    num_texts = _FILL * num_slots * len(engines)
    return TranslatorProcesses(
        engines, shared, topology.num_front_ends, models, template, num_texts
    )


class _InThisProcess:
    def __init__(self, translator: OfflineTranslator, template: TranslationJob) -> None:
        self._translator, self._template = translator, template
        self.num_texts = _FILL * translator.max_slots

    def submit(self, texts: Sequence[str]) -> Future[list[Translation]]:
        return self._translator.submit(
            lambda dispatcher: translate_texts(dispatcher, self._template, texts)
        )


def _require_route(models: Sequence[TranslationModel], job: TranslationJob) -> None:
    """Raise ValueError unless a route exists; the source may be "auto"."""
    routes = Routes([offered_model(model) for model in models])
    try:
        if job.source == AUTO:
            routes.require_known("target", job.target)
            return
        route = routes.require(job.source, job.target)
        if job.glossary is not None:
            require_glossary(job.glossary, route)
    except ServiceError as error:
        raise ValueError(str(error)) from error
