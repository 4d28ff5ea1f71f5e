"""Load the models that the settings name, and check that they can be served."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from model.confidence import Calibration
from model.decoding.options import DecodingOptions
from service.engine.interfaces import Runner, Tokenizer
from service.settings import Settings
from service.translation.inspection import InspectedModel

if TYPE_CHECKING:
    from model.backends.selection import Backend
    from model.checkpoint import CheckpointInfo, StoredModel
    from model.decoding.network_interface import Capacity, Precision

_GIB = 2**30
_USUAL_WORKERS = 2


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""


@dataclass(frozen=True)
class LoadedModel:
    """A checkpoint that can be served, without tensors. `make_runners` has one factory per worker;
    the first call reads the weights. `runner_bytes` is the memory of full runners, without the
    weights."""

    name: str
    pairs: Sequence[tuple[str, str]]
    own_codes: Mapping[str, str]
    decoding: DecodingOptions
    tokenizer: Tokenizer
    make_runners: Sequence[Callable[[], Runner]]
    max_source_tokens: int
    runner_bytes: int
    device: str
    precision: str
    inspected: InspectedModel
    confidence: Mapping[tuple[str, str], Calibration]


def load_models(settings: Settings) -> list[LoadedModel]:
    """Load the checkpoints that the settings name; raises StartupError."""
    if settings.threads:
        os.environ["OMP_NUM_THREADS"] = str(settings.threads)  # torch reads it when imported
    models = [_load_model(path, settings) for path in settings.model]
    for name, count in Counter(model.name for model in models).items():
        if count > 1:
            raise StartupError(f"{count} models are called {name!r}; each needs a name of its own")
    _require_memory(models)
    return models


class _Placement(NamedTuple):
    """Device, precision and backend of a model; None: the best backend."""

    device: str
    precision: Precision
    backend: Backend | None


def _load_model(path: Path, settings: Settings) -> LoadedModel:
    from model.backends.selection import full_bytes, prepare
    from model.checkpoint import open_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from model.runner import Runner as ModelRunner
    from model.runner import warmed_up
    from model.step_timing import measure_step_cost

    try:
        placement = _placement(settings)
        checkpoint = open_checkpoint(resolve_checkpoint(path), placement.device)
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error
    info = checkpoint.info
    control_ids = checkpoint.tokenizer.control_ids()
    capacity = _capacity(settings, info)
    num_workers = _num_workers(settings, placement)
    rooms = _divided(capacity, num_workers)
    prepared = functools.cache(
        lambda: prepare(checkpoint.model, control_ids, placement.precision, placement.backend)
    )

    def make_runner(capacity: Capacity, backend: Backend | None) -> ModelRunner:
        return ModelRunner(
            prepared(),
            control_ids,
            **capacity._asdict(),
            max_beam_size=settings.max_beam_size,
            precision=placement.precision,
            backend=backend,
            byte_ids=checkpoint.tokenizer.byte_ids(),
            alignment_heads=info.alignment_heads,
        )

    def make_warm_runner(capacity: Capacity) -> ModelRunner:
        usual = [info.decoding, DecodingOptions(beam_size=1)]
        runner = warmed_up(functools.partial(make_runner, capacity), placement.backend, usual)
        if runner.can_step_subset:
            runner.share_cores(num_workers)
            runner.step_cost = measure_step_cost(runner, info.decoding)
        return runner

    return LoadedModel(
        name=info.name,
        pairs=info.pairs,
        own_codes=info.own_codes,
        decoding=info.decoding,
        tokenizer=checkpoint.tokenizer,
        make_runners=[functools.partial(make_warm_runner, own) for own in rooms],
        max_source_tokens=capacity.max_source_tokens,
        runner_bytes=full_bytes(
            info.architecture, capacity, settings.max_beam_size, placement.precision
        ),
        device=placement.device,
        precision=placement.precision,
        inspected=_inspected(checkpoint.model),
        confidence=info.confidence,
    )


def _inspected(model: StoredModel) -> InspectedModel:
    from model.inspection import attention_tables, is_inspectable

    compute = functools.partial(attention_tables, model) if is_inspectable(model) else None
    return InspectedModel(model.config, compute)


def _placement(settings: Settings) -> _Placement:
    """Raises ValueError if this machine does not support the settings."""
    from model.backends.selection import resolve_backend, resolve_device, resolve_precision

    device = resolve_device(settings.device)
    precision = resolve_precision(settings.precision, device)
    if settings.backend == "auto":
        return _Placement(device, precision, None)
    return _Placement(device, precision, resolve_backend(settings.backend, device, precision))


def _capacity(settings: Settings, info: CheckpointInfo) -> Capacity:
    from model.decoding.network_interface import Capacity

    return Capacity(
        settings.max_slots,
        settings.max_rows,
        info.source_limit(settings.max_source_tokens or None),
        min(settings.max_target_tokens, info.architecture.max_positions),
    )


def _num_workers(settings: Settings, placement: _Placement) -> int:
    """The `workers` setting, by default two if the native backend has two cores; at most as many as
    have room for the widest beam each. Other backends have one worker."""
    from model.backends.selection import num_cores, resolve_backend

    backend = placement.backend or resolve_backend("auto", placement.device, placement.precision)
    wanted = settings.workers or min(_USUAL_WORKERS, num_cores())
    fitting = min(settings.max_slots, settings.max_rows // settings.max_beam_size)
    return min(wanted, fitting) if backend == "native" else 1


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


def _require_memory(models: Sequence[LoadedModel]) -> None:
    """Raise StartupError if full runners exceed the free memory, before the server runs."""
    from model.backends.selection import free_bytes

    needed, free = sum(model.runner_bytes for model in models), free_bytes(models[0].device)
    if needed > free:
        raise StartupError(
            f"full slots would take {needed / _GIB:.1f} GiB of memory, and {free / _GIB:.1f} GiB "
            "are free; lower max_slots, max_rows, max_target_tokens or max_source_tokens"
        )
