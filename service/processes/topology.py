"""How many processes a server has, by its settings and the machine."""

from __future__ import annotations

import math
import sys

from model.backends.cores import num_cores
from model.backends.memory import free_bytes
from service.models.loading import placement_of
from service.settings import Settings

_CORES_OF_AN_ENGINE = 4
HUB = "hub"
"""The name of the process that counts and keeps what is common to several front ends."""


def num_engines(settings: Settings) -> int:
    """Engine processes beside a front end; 0: one process does everything.

    Only Linux forks safely, and only before PyTorch has threads or a GPU. Raises StartupError.
    """
    cores = settings.threads or num_cores()
    is_alone = settings.one_process or cores == 1 or settings.models_dir is not None
    if is_alone or sys.platform != "linux" or not placement_of(settings).is_native:
        return 0
    return settings.engines or math.ceil(cores / _CORES_OF_AN_ENGINE)


def num_front_ends(settings: Settings, num_engines: int) -> int:
    """Front ends beside this number of engines: HTTP and texts are about a fifth of the work."""
    return settings.front_ends or num_engines


def settings_of_front_end(settings: Settings, num_front_ends: int) -> Settings:
    """Its share of the memory for bodies."""
    share = math.ceil(settings.max_bodies_bytes / num_front_ends)
    return settings.model_copy(update={"max_bodies_bytes": max(settings.max_body_bytes, share)})


def settings_of_engine(settings: Settings, num_engines: int) -> Settings:
    """Its share of the machine and of the limits."""
    if num_engines == 1:
        return settings

    def share(limit: int) -> int:
        return math.ceil(limit / num_engines)

    cores = settings.threads or num_cores()
    least_rows = settings.max_beam_size if settings.max_rows else 0
    changed = {
        "threads": max(1, cores // num_engines),
        "max_slots": share(settings.max_slots),
        "max_rows": max(least_rows, share(settings.max_rows)),
        "max_waiting_sentences": share(settings.max_waiting_sentences),
        "max_waiting_tokens": share(settings.max_waiting_tokens),
        "cache_bytes": share(settings.cache_bytes),
        "memory_limit": share(settings.memory_limit or free_bytes("cpu")),
    }
    return settings.model_copy(update=changed)
