"""Load the models that the settings name, and check that they can be served."""

from __future__ import annotations

import functools
import itertools
import logging
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from model.decoding.search_trace import SearchTrace
from model.decoding.sentence import SourceSentence
from model.device_lost import DeviceLost
from service.engine.interfaces import Runner
from service.settings import Settings
from service.sizing import (
    Demand,
    DoesNotFit,
    Sizes,
    choose_sizes,
    prefill_tokens,
    usual_sizes,
)
from service.translation.inspection import InspectedModel
from service.translation.translator import TranslationModel

if TYPE_CHECKING:
    from model.checkpoint import StoredCheckpoint
    from model.decoding.decoder import Capacity
    from service.runner_factory import Placement, RunnerFactory

_logger = logging.getLogger(__name__)
_USUAL_WORKERS = 2


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""


@dataclass(frozen=True)
class LoadedModel(TranslationModel):
    """A checkpoint that can be served, without tensors. `make_runners` has one factory per worker;
    the first call reads the weights. `sizes`: of all workers together."""

    make_runners: Sequence[Callable[[], Runner]]
    sizes: Sizes
    max_prefill_tokens: int
    device: str
    precision: str
    instruction_set: str | None = None
    """Of the native backend."""


def load_models(settings: Settings, beam_size: int | None = None) -> list[LoadedModel]:
    """Load the checkpoints that the settings name. `beam_size`: of all sentences that come; None:
    mostly the checkpoint's own. Raises StartupError."""
    if settings.threads:
        os.environ["OMP_NUM_THREADS"] = str(settings.threads)  # read by `num_cores`, and by torch
    opened = [_open_model(path, settings) for path in settings.model]
    for name, count in Counter(model.checkpoint.info.name for model in opened).items():
        if count > 1:
            raise StartupError(f"{count} models are called {name!r}; each needs a name of its own")
    return [
        _load_model(model, settings, sizes)
        for model, sizes in zip(opened, _choose_sizes(opened, settings, beam_size), strict=True)
    ]


class _OpenedModel(NamedTuple):
    """A checked checkpoint without its weights, and the bounds of a sentence."""

    checkpoint: StoredCheckpoint
    factory: RunnerFactory
    max_source_tokens: int
    max_target_tokens: int

    def workers(self, sizes: Sizes, settings: Settings) -> list[tuple[Capacity, str]]:
        """The capacity and the device of each worker."""
        from model.decoding.decoder import Capacity

        placement = self.factory.placement
        count = _num_workers(settings, sizes, placement)
        shares = [(_share(sizes.max_slots, i, count), _share(sizes.max_rows, i, count))
                  for i in range(count)]  # fmt: skip
        limits = self.max_source_tokens, self.max_target_tokens
        capacities = (Capacity(*share, *limits) for share in shares)
        return list(zip(capacities, itertools.cycle(placement.devices), strict=False))

    def needed_bytes(self, settings: Settings, sizes: Sizes) -> Counter[str]:
        """Memory of full workers by device; those of a device share the weights."""
        workers = self.workers(sizes, settings)
        needed = Counter({device: self.factory.weight_bytes() for _, device in workers})
        for capacity, device in workers:
            needed[device] += self.factory.needed_bytes(capacity)
        return needed


def _open_model(path: Path, settings: Settings) -> _OpenedModel:
    from model.checkpoint import open_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from service.runner_factory import RunnerFactory

    try:
        placement = _placement(settings)
        checkpoint = open_checkpoint(resolve_checkpoint(path), placement.devices[0])
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error
    info = checkpoint.info
    return _OpenedModel(
        checkpoint,
        RunnerFactory(checkpoint, placement, settings.max_beam_size),
        info.source_limit(settings.max_source_tokens or None),
        min(settings.max_target_tokens, info.architecture.max_positions),
    )


def _choose_sizes(
    models: Sequence[_OpenedModel], settings: Settings, beam_size: int | None
) -> list[Sizes]:
    """Choose precisions, which sizes depend on, and then sizes. Memory is measured first, while no
    weight takes any. Raises StartupError."""
    from model.backends.memory import free_bytes

    devices = {device for model in models for device in model.factory.placement.devices}
    free = {device: free_bytes(device, settings.gpu_share) for device in devices}
    for model in models:
        _settle_precision(model, settings)
    asked, least = Sizes(settings.max_slots, settings.max_rows), settings.max_beam_size
    demands = [_demand(model, settings, asked, beam_size) for model in models]
    try:
        chosen = choose_sizes(demands, asked, least, free)
    except DoesNotFit as error:
        raise StartupError(str(error)) from error
    for model, demand, sizes in zip(models, demands, chosen, strict=True):
        if sizes != demand.wanted:
            _logger.warning(
                "%s has only %d slots and %d rows, because no more fit into the free memory",
                *(model.checkpoint.info.name, *sizes),
            )
    return chosen


def _demand(model: _OpenedModel, settings: Settings, asked: Sizes, beam_size: int | None) -> Demand:
    devices = model.factory.placement.devices
    width = beam_size or model.checkpoint.info.decoding.beam_size
    usual = usual_sizes(asked, devices, width, settings.max_beam_size)
    return Demand(usual, functools.partial(model.needed_bytes, settings))


def _settle_precision(model: _OpenedModel, settings: Settings) -> None:
    factory = model.factory
    if factory.placement.is_gpu and settings.precision == "auto":
        try:
            factory.choose_precision()
        except (MemoryError, DeviceLost, OSError, ValueError) as error:
            raise StartupError(f"{model.checkpoint.info.name}: {error}") from error


def _load_model(opened: _OpenedModel, settings: Settings, sizes: Sizes) -> LoadedModel:
    checkpoint, factory = opened.checkpoint, opened.factory
    info, placement = checkpoint.info, factory.placement
    workers = opened.workers(sizes, settings)
    return LoadedModel(
        name=info.name,
        pairs=info.pairs,
        own_codes=info.own_codes,
        decoding=info.decoding,
        tokenizer=checkpoint.tokenizer,
        make_runners=[
            functools.partial(
                factory.make_warm_runner, capacity, device, len(workers), settings.scheduling
            )
            for capacity, device in workers
        ],
        max_source_tokens=opened.max_source_tokens,
        sizes=sizes,
        max_prefill_tokens=settings.max_prefill_tokens
        or prefill_tokens(placement.is_gpu, info.architecture),
        device=",".join(placement.devices),
        precision=placement.precision,
        instruction_set=placement.instruction_set if placement.is_native else None,
        inspected=_inspected(checkpoint, factory),
        confidence=info.confidence,
    )


def _inspected(checkpoint: StoredCheckpoint, factory: RunnerFactory) -> InspectedModel:
    """A trace uses the engine's weights on a CPU; elsewhere it reads them again, as attention."""
    from model.inspection import TracedModel, attention_tables, is_inspectable, on_cpu, trace_search

    model, tokenizer, placement = checkpoint.model, checkpoint.tokenizer, factory.placement
    if not is_inspectable(model):
        return InspectedModel(model.config, None, None)

    def traced(sentence: SourceSentence, max_target: int) -> SearchTrace:
        tokens = tokenizer.control_ids(), tokenizer.byte_ids(), tokenizer.copied_ids()
        own = (
            TracedModel(on_cpu(model), *tokens, "float32", None)
            if placement.is_gpu
            else TracedModel(factory.weights(), *tokens, placement.precision, placement.backend)
        )
        return trace_search(own, sentence, max_target)

    return InspectedModel(model.config, functools.partial(attention_tables, model), traced)


def _placement(settings: Settings) -> Placement:
    """Raises ValueError if this machine does not support the settings."""
    from model.backends.devices import resolve_devices
    from model.backends.native import choose_instruction_set
    from model.backends.selection import resolve_backend, resolve_precision
    from service.runner_factory import Placement

    devices = resolve_devices(settings.device)
    instruction_set = choose_instruction_set(settings.instruction_set)
    precision, *_ = [resolve_precision(settings.precision, d, instruction_set) for d in devices]
    backend = None
    if settings.backend != "auto":
        backend = resolve_backend(settings.backend, devices[0], precision)
    return Placement(devices, precision, backend, instruction_set)


def _num_workers(settings: Settings, sizes: Sizes, placement: Placement) -> int:
    """The `workers` setting, by default two if the native backend has two cores; at most as many as
    have room for the widest beam each. On GPUs one worker a device."""
    from model.backends.cores import num_cores

    wanted = settings.workers or min(_USUAL_WORKERS, num_cores())
    fitting = min(sizes.max_slots, sizes.max_rows // settings.max_beam_size)
    return min(wanted if placement.is_native else len(placement.devices), fitting)


def _share(total: int, place: int, count: int) -> int:
    return total // count + (place < total % count)
