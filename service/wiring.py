"""Make an engine for every loaded model, and one dispatcher for all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from model.device_lost import DeviceLost
from service import __version__
from service.engine.engine import Engine, EngineLimits
from service.engine.worker import Worker
from service.loading import LoadedModel, StartupError
from service.observability.metrics import Metrics, ModelMetrics
from service.settings import Settings
from service.translation.dispatcher import Dispatcher
from service.translation.translator import Translator

_MOST_REBUILDS = 5
"""Failed rebuilds in a row after which a process with a GPU ends; a new one may find it well."""


class Wired(NamedTuple):
    """Engines by model name, not yet started, and their dispatcher."""

    engines: Mapping[str, Engine]
    dispatcher: Dispatcher


def wire(
    settings: Settings,
    models: Sequence[LoadedModel],
    metrics: Metrics,
) -> Wired:
    """Make the engines and the dispatcher; raises StartupError."""
    busy_workers: set[Worker] = set()
    engines = {
        model.name: _make_engine(settings, model, metrics.of_model(model.name), busy_workers)
        for model in models
    }
    translators = [Translator(model, engines[model.name]) for model in models]
    return Wired(engines, Dispatcher(translators, settings.max_beam_size))


def _make_engine(
    settings: Settings, model: LoadedModel, metrics_: ModelMetrics, busy_workers: set[Worker]
) -> Engine:
    bounds = EngineLimits(
        max_waiting_sentences=settings.max_waiting_sentences,
        max_waiting_tokens=settings.max_waiting_tokens,
        max_prefill_tokens=model.max_prefill_tokens,
        is_preemptive=settings.scheduling == "short-first",
        cache_bytes=settings.cache_bytes // len(settings.model),
    )
    started = time.monotonic()
    try:
        most_rebuilds = _MOST_REBUILDS if model.device.startswith("cuda") else None
        engine = Engine(model.make_runners, metrics_, bounds, busy_workers, most_rebuilds)
    except (MemoryError, OSError, ValueError, DeviceLost) as error:
        raise StartupError(f"{model.name} on {model.device}: {error}") from error
    seconds = time.monotonic() - started
    computed = model.precision, model.instruction_set
    metrics_.describe_model(__version__, model.device, *computed, seconds)
    metrics_.watch_engine(
        {
            "workers": lambda: engine.num_workers,
            "running": lambda: engine.num_running,
            "set_aside": lambda: engine.num_set_aside,
            "slots": lambda: model.sizes.max_slots,
            "rows_used": lambda: engine.num_rows,
            "rows": lambda: model.sizes.max_rows,
            "waiting": lambda: engine.admission.num_sentences,
            "waiting_tokens": lambda: engine.admission.num_tokens,
            "ready": lambda: engine.is_ready,
            "cache_bytes": lambda: engine.num_cached_bytes,
            "refused_paths": lambda: engine.num_refused_paths,
        }
    )
    return engine
