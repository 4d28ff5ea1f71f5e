"""Load the models that the settings name, and check that they can be served."""

from __future__ import annotations

import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from model.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.search_trace import SearchTrace
from model.decoding.sentence import SourceSentence
from model.device_lost import DeviceLost
from service.engine.interfaces import Runner, Tokenizer
from service.settings import Settings
from service.translation.inspection import InspectedModel

if TYPE_CHECKING:
    from model.checkpoint import CheckpointInfo, StoredCheckpoint
    from model.decoding.network_interface import Capacity
    from service.runner_factory import Placement, RunnerFactory

_GIB = 2**30
_USUAL_WORKERS = 2


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""


@dataclass(frozen=True)
class LoadedModel:
    """A checkpoint that can be served, without tensors. `make_runners` has one factory per worker;
    the first call reads the weights."""

    name: str
    pairs: Sequence[tuple[str, str]]
    own_codes: Mapping[str, str]
    decoding: DecodingOptions
    tokenizer: Tokenizer
    make_runners: Sequence[Callable[[], Runner]]
    max_source_tokens: int
    device: str
    precision: str
    inspected: InspectedModel
    confidence: Mapping[tuple[str, str], Calibration]


def load_models(settings: Settings) -> list[LoadedModel]:
    """Load the checkpoints that the settings name; raises StartupError."""
    if settings.threads:
        os.environ["OMP_NUM_THREADS"] = str(settings.threads)  # torch reads it when imported
    opened = [_open_model(path, settings) for path in settings.model]
    for name, count in Counter(model.checkpoint.info.name for model in opened).items():
        if count > 1:
            raise StartupError(f"{count} models are called {name!r}; each needs a name of its own")
    _require_memory(opened)
    return [_load_model(model, settings) for model in opened]


class _OpenedModel(NamedTuple):
    """A checked checkpoint without its weights, and the capacity and device of each worker."""

    checkpoint: StoredCheckpoint
    factory: RunnerFactory
    max_source_tokens: int
    workers: Sequence[tuple[Capacity, str]]


def _open_model(path: Path, settings: Settings) -> _OpenedModel:
    from model.checkpoint import open_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from service.runner_factory import RunnerFactory

    try:
        placement = _placement(settings)
        checkpoint = open_checkpoint(resolve_checkpoint(path), placement.devices[0])
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error
    capacity = _capacity(settings, checkpoint.info)
    rooms = _divided(capacity, _num_workers(settings, placement))
    factory = RunnerFactory(checkpoint, placement, settings.max_beam_size, len(rooms))
    devices = itertools.cycle(placement.devices)
    workers = list(zip(rooms, devices, strict=False))
    return _OpenedModel(checkpoint, factory, capacity.max_source_tokens, workers)


def _load_model(opened: _OpenedModel, settings: Settings) -> LoadedModel:
    checkpoint, factory = opened.checkpoint, opened.factory
    info = checkpoint.info
    if factory.placement.is_gpu and settings.precision == "auto":
        try:
            factory.choose_precision()
        except (MemoryError, DeviceLost, OSError, ValueError) as error:
            raise StartupError(f"{info.name}: {error}") from error
    return LoadedModel(
        name=info.name,
        pairs=info.pairs,
        own_codes=info.own_codes,
        decoding=info.decoding,
        tokenizer=checkpoint.tokenizer,
        make_runners=[
            functools.partial(factory.make_warm_runner, capacity, device)
            for capacity, device in opened.workers
        ],
        max_source_tokens=opened.max_source_tokens,
        device=",".join(factory.placement.devices),
        precision=factory.placement.precision,
        inspected=_inspected(checkpoint, factory),
        confidence=info.confidence,
    )


def _inspected(checkpoint: StoredCheckpoint, factory: RunnerFactory) -> InspectedModel:
    """A trace uses the engine's weights on a CPU; elsewhere it reads them again, as attention."""
    from model.inspection import attention_tables, is_inspectable
    from model.search_tracing import TracedModel, on_cpu, trace_search

    model, tokenizer, placement = checkpoint.model, checkpoint.tokenizer, factory.placement
    if not is_inspectable(model):
        return InspectedModel(model.config, None, None)

    def traced(sentence: SourceSentence, max_target: int) -> SearchTrace:
        control_ids, byte_ids = tokenizer.control_ids(), tokenizer.byte_ids()
        own = (
            TracedModel(on_cpu(model), control_ids, byte_ids, "float32", None)
            if placement.is_gpu
            else TracedModel(
                factory.weights(), control_ids, byte_ids, placement.precision, placement.backend
            )
        )
        return trace_search(own, sentence, max_target)

    return InspectedModel(model.config, functools.partial(attention_tables, model), traced)


def _placement(settings: Settings) -> Placement:
    """Raises ValueError if this machine does not support the settings."""
    from model.backends.devices import resolve_devices
    from model.backends.selection import resolve_backend, resolve_precision
    from service.runner_factory import Placement

    devices = resolve_devices(settings.device)
    precision = resolve_precision(settings.precision, devices[0])
    if settings.backend == "auto":
        return Placement(devices, precision, None)
    return Placement(devices, precision, resolve_backend(settings.backend, devices[0], precision))


def _capacity(settings: Settings, info: CheckpointInfo) -> Capacity:
    from model.decoding.network_interface import Capacity

    return Capacity(
        settings.max_slots,
        settings.max_rows,
        info.source_limit(settings.max_source_tokens or None),
        min(settings.max_target_tokens, info.architecture.max_positions),
    )


def _num_workers(settings: Settings, placement: Placement) -> int:
    """The `workers` setting, by default two if the native backend has two cores; at most as many as
    have room for the widest beam each. On GPUs one worker a device."""
    from model.backends.selection import num_cores, resolve_backend

    device = placement.devices[0]
    backend = placement.backend or resolve_backend("auto", device, placement.precision)
    wanted = settings.workers or min(_USUAL_WORKERS, num_cores())
    fitting = min(settings.max_slots, settings.max_rows // settings.max_beam_size)
    return min(wanted if backend == "native" else len(placement.devices), fitting)


def _divided(capacity: Capacity, count: int) -> list[Capacity]:
    """Divide slots and rows between `count` workers."""
    return [
        capacity._replace(
            max_slots=_share(capacity.max_slots, i, count),
            max_rows=_share(capacity.max_rows, i, count),
        )
        for i in range(count)
    ]


def _share(total: int, place: int, count: int) -> int:
    return total // count + (place < total % count)


def _require_memory(models: Sequence[_OpenedModel]) -> None:
    """Raise StartupError if full runners, on a GPU with their weights, exceed the free memory of a
    device, before the server runs."""
    from model.backends.memory import free_bytes

    needed: Counter[str] = Counter()
    for model in models:
        for capacity, device in model.workers:
            needed[device] += model.factory.needed_bytes(capacity)
    for device, num_bytes in needed.items():
        if num_bytes > (free := free_bytes(device)):
            raise StartupError(
                f"full slots would take {num_bytes / _GIB:.1f} GiB of memory, and "
                f"{free / _GIB:.1f} GiB are free on {device}; lower max_slots, max_rows, "
                "max_target_tokens or max_source_tokens"
            )
