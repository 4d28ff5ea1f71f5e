"""How many processes a server has, by its settings and the machine."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from model.backends.cores import num_cores
from model.backends.devices import has_pytorch, may_have_gpu
from model.backends.memory import free_bytes
from model.checkpoint import read_info
from model.importers.resolve import resolve_checkpoint
from model.network.parameters import num_weights
from service.models.loading import memory_limit, placement_of
from service.models.runners import ModelPlacement, weights_bytes
from service.models.store import ModelStore
from service.settings import Settings
from service.settings.startup import StartupError

_CORES_OF_AN_ENGINE, _CORES_IF_SMALL = 4, 2
_MOST_WEIGHTS_IF_SMALL = 40_000_000
"""Of the largest model. A step of a small one is too short to divide among more cores."""
_BYTES_OF_AN_ENGINE = 2**28
"""With its front end, beside the weights: Python's of both, and slots of a small model."""
_FRONT_ENDS_OF_A_GPU = 8
HUB = "hub"
"""The name of the process that counts and keeps what is common to several front ends."""


class Topology(NamedTuple):
    """`engines`: the settings of each engine process; none: one process does everything.
    `shares_weights`: all have the weights of the parent, else each loads its own."""

    engines: Sequence[Settings]
    num_front_ends: int = 1
    shares_weights: bool = True


def topology_of(settings: Settings) -> Topology:
    """Processes fork only on Linux, and only before PyTorch has threads or a GPU; with PyTorch on a
    CPU there are several if the settings ask for them. Raises StartupError, and
    ModuleNotFoundError if a GPU is asked for without PyTorch."""
    cores = settings.threads or num_cores()
    if settings.one_process or sys.platform != "linux":
        return Topology([])
    if settings.device == "auto" and may_have_gpu():
        settings = settings.model_copy(update={"device": _found_device()})
    if settings.device.startswith("cuda"):
        if not has_pytorch():
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return _on_gpus(settings, cores) if cores > 1 else Topology([])
    placement = placement_of(settings)
    if cores == 1 or not (placement.is_native or settings.engines):
        return Topology([])
    count = settings.engines
    if not count:
        count = _usual_engines(settings, placement, cores)
        if (most := count * _CORES_OF_AN_ENGINE) < cores and not settings.threads:
            settings = settings.model_copy(update={"threads": most})
    num_front_ends = settings.front_ends or count
    if settings.models_dir is not None:  # what is free is measured once: all plan with the same
        settings = settings.model_copy(update={"memory_limit": memory_limit(settings)})
    engines = [settings_of_engine(settings, count)] * count
    return Topology(engines, num_front_ends, placement.is_native)


def _usual_engines(settings: Settings, placement: ModelPlacement, cores: int) -> int:
    """Each has cores, and memory in which its share of the limits fits: a container may have all
    cores of a large machine, and little of its memory. Raises StartupError if a model cannot be
    read."""
    try:
        pinned = [read_info(resolve_checkpoint(path)) for path in settings.pinned_models]
        stored = ModelStore(settings.models_dir).contents().models if settings.models_dir else {}
    except (ValueError, OSError) as error:
        raise StartupError(str(error)) from error
    networks = [info.architecture for info in pinned]
    weights = sum(weights_bytes(network, placement) for network in networks)
    fitting = memory_limit(settings) // (_BYTES_OF_AN_ENGINE + weights)
    networks += [model.info.architecture for model in stored.values()]
    if max(map(num_weights, networks), default=0) <= _MOST_WEIGHTS_IF_SMALL:
        usual = cores // _CORES_IF_SMALL
    else:
        usual = math.ceil(cores / _CORES_OF_AN_ENGINE)
    return max(1, min(usual, fitting))


def _found_device() -> str:
    """What the device "auto" is here, as another process finds it: who has looked for a GPU cannot
    fork any more."""
    code = "from model.backends.devices import resolve_device; print(resolve_device('auto'))"
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    return found.stdout.strip() or "cpu"


def _on_gpus(settings: Settings, cores: int) -> Topology:
    kind, _, numbers = settings.device.partition(":")
    devices = [f"{kind}:{number}" for number in numbers.split(",")] if numbers else [kind]
    num_engines = settings.engines or len(devices)
    if num_engines % len(devices):
        raise StartupError(
            f"setting engines: must be a multiple of {len(devices)}, the number of GPUs, "
            f"got {num_engines}"
        )
    share = len(devices) / num_engines
    memory = math.ceil(settings.memory_limit * share)  # on each device
    of_gpu = {"gpu_share": settings.gpu_share * share, "memory_limit": memory}
    own = _with_shares(settings, num_engines, of_gpu)
    engines = [own.model_copy(update={"device": device}) for device in devices]
    num_front_ends = min(_FRONT_ENDS_OF_A_GPU * len(devices), max(1, cores // 2))
    count = num_engines // len(devices)
    return Topology(engines * count, settings.front_ends or num_front_ends, shares_weights=False)


def settings_of_front_end(settings: Settings, num_front_ends: int) -> Settings:
    """Its share of the memory for bodies."""
    share = math.ceil(settings.max_bodies_bytes / num_front_ends)
    return settings.model_copy(update={"max_bodies_bytes": max(settings.max_body_bytes, share)})


def settings_of_engine(settings: Settings, num_engines: int) -> Settings:
    """Its share of a CPU and of the limits."""
    if num_engines == 1:
        return settings
    cores = settings.threads or num_cores()
    memory = math.ceil((settings.memory_limit or free_bytes("cpu")) / num_engines)
    changed = {"threads": max(1, cores // num_engines), "memory_limit": memory}
    return _with_shares(settings, num_engines, changed)


def _with_shares(
    settings: Settings, num_engines: int, changed: Mapping[str, float | str]
) -> Settings:
    """One engine's share of all limits, and what else is changed."""

    def share(limit: int) -> int:
        return math.ceil(limit / num_engines)

    least_rows = settings.max_beam_size if settings.max_rows else 0
    shares = {
        "max_slots": share(settings.max_slots),
        "max_rows": max(least_rows, share(settings.max_rows)),
        "max_waiting_sentences": share(settings.max_waiting_sentences),
        "max_waiting_tokens": share(settings.max_waiting_tokens),
        "cache_bytes": share(settings.cache_bytes),
    }
    return settings.model_copy(update={**shares, **changed})
