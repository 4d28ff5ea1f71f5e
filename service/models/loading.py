"""Load the models that the settings name, and check that they can be served."""

from __future__ import annotations

import dataclasses
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
from service.engine.engine_runner import EngineRunner
from service.models.sizing import (
    STORE_SHARE,
    Demand,
    DoesNotFit,
    Sizes,
    choose_sizes,
    prefill_tokens,
    rows_of_a_gpu,
    usable_bytes,
    usual_sizes,
)
from service.settings import Settings
from service.settings.startup import StartupError, startup_errors
from service.translation.study.inspection import InspectedModel
from service.translation.translator import TranslationModel

if TYPE_CHECKING:
    from model.backends.shared_files import SharedFiles
    from model.checkpoint import CheckpointInfo, StoredCheckpoint
    from model.decoding.decoder import Capacity
    from service.models.runners import ModelPlacement, RunnerFactory

_logger = logging.getLogger(__name__)
_USUAL_WORKERS = 2


@dataclass(frozen=True)
class LoadedModel(TranslationModel):
    """A checkpoint that can be served, without tensors. `make_runners` has one factory per worker;
    the first call reads the weights. `sizes`: of all workers together; `num_bytes`: memory on its
    fullest device when it is served."""

    make_runners: Sequence[Callable[[], EngineRunner]]
    sizes: Sizes
    max_prefill_tokens: int
    device: str
    precision: str
    instruction_set: str | None = None
    """Of the native backend."""
    num_bytes: int = 0
    read_weights: Callable[[], object] = tuple
    """Has the weights in this process, for those that fork from it."""

    @property
    def summary(self) -> str:
        """For the log: where and how it is computed."""
        computed = " ".join(filter(None, (self.precision, self.instruction_set)))
        slots, rows = self.sizes
        return f"{self.name} on {self.device} ({computed}) with {slots} slots and {rows} rows"


@dataclass(frozen=True)
class ModelPlan:
    """A checkpoint by its description alone: what serving it takes. `shared`: where processes have
    its weights once."""

    path: Path
    info: CheckpointInfo
    placement: ModelPlacement
    settings: Settings
    shared: SharedFiles | None = None

    @property
    def max_source_tokens(self) -> int:
        return self.info.source_limit(self.settings.max_source_tokens or None)

    def workers(self, sizes: Sizes) -> list[tuple[Capacity, str]]:
        """The capacity and the device of each worker."""
        from model.decoding.decoder import Capacity

        count = _num_workers(self.settings, sizes, self.placement)
        shares = [(_share(sizes.max_slots, i, count), _share(sizes.max_rows, i, count))
                  for i in range(count)]  # fmt: skip
        longest = min(self.settings.max_target_tokens, self.info.architecture.max_positions)
        capacities = (Capacity(*share, self.max_source_tokens, longest) for share in shares)
        return list(zip(capacities, itertools.cycle(self.placement.devices), strict=False))

    def needed_bytes(self, sizes: Sizes) -> Counter[str]:
        """Memory of full workers by device; those of a device share the weights. Of weights that
        processes share, each counts its part."""
        from service.models.runners import runner_bytes, weights_bytes

        architecture, placement = self.info.architecture, self.placement
        workers = self.workers(sizes)
        weights = weights_bytes(architecture, placement)
        weights //= self.shared.num_sharers if self.shared else 1
        needed = Counter({device: weights for _, device in workers})
        for capacity, device in workers:
            widest = self.settings.max_beam_size
            needed[device] += runner_bytes(architecture, placement, capacity, widest)
        return needed

    def demand(self, beam_size: int | None = None) -> Demand:
        """`beam_size`: as of `load_models`."""
        asked = Sizes(self.settings.max_slots, self.settings.max_rows)
        width = beam_size or self.info.decoding.beam_size
        devices = self.placement.devices
        rows = rows_of_a_gpu(self.info.architecture)
        usual = usual_sizes(asked, devices, width, self.settings.max_beam_size, rows)
        return Demand(usual, self.needed_bytes)

    def sizes_within(self, memory_limit: int) -> Sizes:
        """Sizes that take a share of the limit (STORE_SHARE), or the smallest. Raises DoesNotFit
        if these are beyond the limit."""
        free = dict.fromkeys(self.placement.devices, memory_limit)
        asked = Sizes(self.settings.max_slots, self.settings.max_rows)
        least = self.settings.max_beam_size
        (sizes,) = choose_sizes([self.demand()], asked, least, free, STORE_SHARE)
        return sizes

    def num_bytes(self, sizes: Sizes) -> int:
        """Memory on its fullest device."""
        return max(self.needed_bytes(sizes).values())


def plan_model(
    path: Path, info: CheckpointInfo, settings: Settings, shared: SharedFiles | None = None
) -> ModelPlan:
    """What serving a checkpoint takes on this machine. Raises StartupError."""
    return ModelPlan(path, info, placement_of(settings), settings, shared)


def plan_elsewhere(
    path: Path, info: CheckpointInfo, settings: Settings, shared: SharedFiles | None = None
) -> ModelPlan:
    """The same, for a process whose engines are in others. Of a GPU it is an estimate, in the usual
    precision."""
    return ModelPlan(path, info, _placement_elsewhere(settings), settings, shared)


def memory_limit(settings: Settings) -> int:
    """Bytes on each device that all models together may take: those of the settings, or else a part
    of the memory that is free on the fullest device. Raises StartupError."""
    from model.backends.memory import free_bytes

    if settings.memory_limit:
        return settings.memory_limit
    devices = placement_of(settings).devices
    return min(usable_bytes(device, free_bytes(device, settings.gpu_share)) for device in devices)


def load_models(settings: Settings, beam_size: int | None = None) -> list[LoadedModel]:
    """Load the checkpoints that the settings name. `beam_size`: of all requests; None if they
    choose it, and most use the checkpoint's own. Raises StartupError."""
    if settings.threads:
        os.environ["OMP_NUM_THREADS"] = str(settings.threads)  # read by `num_cores`, and by torch
    if not settings.pinned_models:
        return []
    opened = [_open_model(path, settings) for path in settings.pinned_models]
    for name, count in Counter(model.checkpoint.info.name for model in opened).items():
        if count > 1:
            raise StartupError(f"{count} models are called {name!r}; each needs a name of its own")
    return [
        _load_model(model, sizes)
        for model, sizes in zip(opened, _choose_sizes(opened, settings, beam_size), strict=True)
    ]


def describe_models(settings: Settings) -> list[TranslationModel]:
    """The checkpoints that the settings name, for a process whose engines are in others: it reads
    no weights and uses no GPU. Raises StartupError."""
    try:
        return [describe(path, settings) for path in settings.pinned_models]
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error


def describe(path: Path, settings: Settings) -> TranslationModel:
    """The same of one checkpoint. A trace of the search reads the weights each time. Raises
    ValueError or OSError, among them CheckpointError for damaged files."""
    from model.checkpoint import open_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from service.models.runners import RunnerFactory

    def make_factory() -> RunnerFactory:
        return RunnerFactory(checkpoint, placement, settings.max_beam_size)

    placement = _placement_elsewhere(settings)
    checkpoint = open_checkpoint(resolve_checkpoint(path))
    info = checkpoint.info
    return TranslationModel(
        name=info.name,
        pairs=info.pairs,
        own_codes=info.own_codes,
        decoding=info.decoding,
        tokenizer=checkpoint.tokenizer,
        max_source_tokens=info.source_limit(settings.max_source_tokens or None),
        inspected=_inspected(checkpoint, placement, make_factory),
        confidence=info.confidence,
    )


def open_within(
    path: Path, settings: Settings, limit: int, shared: SharedFiles | None
) -> Callable[[], LoadedModel]:
    """Check a checkpoint of a store -> what loads it, in sizes for the memory limit. Both raise
    ValueError or OSError, among them CheckpointError for damaged files."""
    opened = _opened(path, settings, shared)
    return lambda: _load_model(opened, opened.settled_plan().sizes_within(limit))


class _OpenedModel(NamedTuple):
    """A checked checkpoint without its weights."""

    plan: ModelPlan
    checkpoint: StoredCheckpoint
    factory: RunnerFactory

    def settled_plan(self) -> ModelPlan:
        """The plan with the precision that the model has, which its memory depends on."""
        with startup_errors(self.checkpoint.info.name):
            if self.factory.placement.is_gpu and self.plan.settings.precision == "auto":
                self.factory.choose_precision()
            self.factory.require_precision()
        return dataclasses.replace(self.plan, placement=self.factory.placement)


def _open_model(path: Path, settings: Settings) -> _OpenedModel:
    """As `_opened`, but raises StartupError."""
    try:
        return _opened(path, settings)
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error


def _opened(path: Path, settings: Settings, shared: SharedFiles | None = None) -> _OpenedModel:
    """Raises ValueError or OSError."""
    from model.checkpoint import open_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from service.models.runners import RunnerFactory

    placement, path = placement_of(settings), resolve_checkpoint(path)
    checkpoint = open_checkpoint(path, placement.devices[0])
    factory = RunnerFactory(checkpoint, placement, settings.max_beam_size, shared)
    plan = ModelPlan(path, checkpoint.info, placement, settings, shared)
    return _OpenedModel(plan, checkpoint, factory)


def _choose_sizes(
    models: Sequence[_OpenedModel], settings: Settings, beam_size: int | None
) -> list[Sizes]:
    """Choose precisions, which sizes depend on, and then sizes. Memory is measured first, while no
    weight takes any. Beside a store each model has the sizes of a model of the store. Raises
    StartupError."""
    from model.backends.memory import free_bytes

    devices = {device for model in models for device in model.plan.placement.devices}
    free = {device: free_bytes(device, settings.gpu_share) for device in devices}
    if settings.memory_limit:
        free = {device: min(num, settings.memory_limit) for device, num in free.items()}
    plans = [model.settled_plan() for model in models]
    asked, least = Sizes(settings.max_slots, settings.max_rows), settings.max_beam_size
    demands = [plan.demand(beam_size) for plan in plans]
    try:
        if settings.models_dir:
            limit = memory_limit(settings)
            demands = [dataclasses.replace(d, wanted=plan.sizes_within(limit))
                       for d, plan in zip(demands, plans, strict=True)]  # fmt: skip
        chosen = choose_sizes(demands, asked, least, free)
    except DoesNotFit as error:
        raise StartupError(str(error)) from error
    for plan, demand, sizes in zip(plans, demands, chosen, strict=True):
        if sizes != demand.wanted:
            _logger.warning(
                "%s has only %d slots and %d rows, because no more fit into the free memory",
                *(plan.info.name, *sizes),
            )
    return chosen


def _load_model(opened: _OpenedModel, sizes: Sizes) -> LoadedModel:
    plan, checkpoint, factory = opened
    info, placement, settings = checkpoint.info, factory.placement, plan.settings
    plan = dataclasses.replace(plan, placement=placement)
    workers = plan.workers(sizes)
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
        max_source_tokens=plan.max_source_tokens,
        sizes=sizes,
        max_prefill_tokens=settings.max_prefill_tokens
        or prefill_tokens(placement.is_gpu, info.architecture),
        device=",".join(placement.devices),
        precision=placement.precision,
        instruction_set=placement.instruction_set if placement.is_native else None,
        inspected=_inspected(checkpoint, placement, lambda: factory),
        confidence=info.confidence,
        num_bytes=plan.num_bytes(sizes),
        read_weights=factory.weights,
    )


def _inspected(
    checkpoint: StoredCheckpoint,
    placement: ModelPlacement,
    factory: Callable[[], RunnerFactory],
) -> InspectedModel:
    """What inspection needs of a model. A trace of the search uses the factory's weights on a CPU;
    beside a GPU it reads them again, and computes on the CPU, so as not to disturb the engine.
    Attention tables always read them again."""
    from model.inspection import TracedModel, attention_tables, is_inspectable, trace_search

    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    if not is_inspectable(model):
        return InspectedModel(model.config, None, None)

    def traced(sentence: SourceSentence, max_target: int) -> SearchTrace:
        tokens = tokenizer.control_ids(), tokenizer.byte_ids(), tokenizer.copied_ids()
        own = (
            TracedModel(model.on("cpu"), *tokens, "float32", None, tokenizer.pieces)
            if placement.is_gpu
            else TracedModel(
                factory().weights(),
                *tokens,
                placement.precision,
                placement.backend,
                tokenizer.pieces,
            )
        )
        return trace_search(own, sentence, max_target)

    return InspectedModel(model.config, functools.partial(attention_tables, model), traced)


def placement_of(settings: Settings) -> ModelPlacement:
    """Where and how models compute. Raises StartupError if this machine does not support the
    settings."""
    from model.backends.devices import resolve_devices
    from model.backends.native import choose_instruction_set
    from model.backends.selection import resolve_backend, resolve_precision
    from service.models.runners import ModelPlacement

    try:
        devices = resolve_devices(settings.device)
        instruction_set = choose_instruction_set(settings.instruction_set)
        precision, *_ = [
            resolve_precision(settings.precision, device, instruction_set, settings.backend)
            for device in devices
        ]
        backend = None
        if settings.backend != "auto":
            backend = resolve_backend(settings.backend, devices[0], precision)
    except ValueError as error:
        raise StartupError(str(error)) from error
    return ModelPlacement(devices, precision, backend, instruction_set)


def _placement_elsewhere(settings: Settings) -> ModelPlacement:
    """The same for a process whose engines are in others, which looks at no GPU."""
    from service.models.runners import ModelPlacement

    if not settings.device.startswith("cuda"):
        return placement_of(settings)
    precision = "float16" if settings.precision == "auto" else settings.precision
    return ModelPlacement([settings.device], precision, "eager")


def _num_workers(settings: Settings, sizes: Sizes, placement: ModelPlacement) -> int:
    """The `workers` setting, by default two if the native backend has two cores; at most as many as
    have room for the widest beam each. On GPUs one worker a device."""
    from model.backends.cores import num_cores

    wanted = settings.workers or min(_USUAL_WORKERS, num_cores())
    fitting = min(sizes.max_slots, sizes.max_rows // settings.max_beam_size)
    return min(wanted if placement.is_native else len(placement.devices), fitting)


def _share(total: int, place: int, count: int) -> int:
    return total // count + (place < total % count)
