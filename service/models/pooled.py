"""Versions of models that may be in memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from model.checkpoint import is_damage
from service.engine.pooled_engine import PooledEngine
from service.observability.metrics import LoadMetrics


class Loaded(Protocol):
    """A model in memory."""

    @property
    def engine(self) -> PooledEngine: ...


_logger = logging.getLogger(__name__)
_FIRST_RATE = 50e6
"""Bytes of files loaded a second: an assumption until one was loaded."""
LoadedT = TypeVar("LoadedT", bound=Loaded)


@dataclass
class Loadable(Generic[LoadedT]):
    """How to load a version of a model. `open` checks its files, before others leave for it, and
    returns what loads it; both run in a thread and may raise anything. `num_bytes`: in memory;
    `file_bytes`: to read."""

    version: str
    open: Callable[[], Callable[[], LoadedT]]
    num_bytes: int
    file_bytes: int = 0


@dataclass(eq=False)
class Resident(Generic[LoadedT]):
    """A model in memory. A leaving one takes no more leases. It stays until `may_leave_seconds`, on
    the monotonic clock, while it is used."""

    model: PooledModel[LoadedT]
    loaded: LoadedT
    num_bytes: int
    used_seconds: float
    may_leave_seconds: float
    num_leases: int = 0
    is_leaving: bool = False
    is_gone: bool = False


@dataclass(eq=False)
class PooledModel(Generic[LoadedT]):
    """A version of a model that may be in memory. Pinned ones stay as long as they are offered.
    `failure`: why the last load failed; `is_damaged`: because its files are wrong."""

    name: str
    loadable: Loadable[LoadedT]
    metrics: LoadMetrics
    is_pinned: bool = False
    resident: Resident[LoadedT] | None = None
    is_loading: bool = False
    failed_seconds: float = float("-inf")
    failure: str | None = None
    is_damaged: bool = False

    @property
    def engine(self) -> PooledEngine | None:
        """None: it is not in memory."""
        return None if self.resident is None else self.resident.loaded.engine

    @property
    def usable(self) -> Resident[LoadedT] | None:
        """The model in memory, if it takes leases."""
        resident = self.resident
        return None if resident is None or resident.is_leaving else resident

    def note_failure(self, error: Exception) -> None:
        """Count a failed load, and log it unless the last one failed for the same reason."""
        self.failed_seconds = time.monotonic()
        self.metrics.count_load_failure()
        if self.failure != str(error):
            _logger.error("the model %s cannot be loaded: %s", self.name, error)
        self.failure, self.is_damaged = str(error), is_damage(error)


@dataclass(eq=False)
class LeaseRequest(Generic[LoadedT]):
    """A request that waits for its models; it has its leases when `granted` is done."""

    models: Sequence[PooledModel[LoadedT]]
    granted: asyncio.Future[None]
    residents: Sequence[Resident[LoadedT]] = ()


class LoadRate:
    """Bytes of files that are loaded in a second."""

    def __init__(self) -> None:
        self._bytes, self._seconds = _FIRST_RATE * 1e-3, 1e-3

    def note(self, num_bytes: int, seconds: float) -> None:
        """A model with so many bytes was loaded in this time."""
        if num_bytes:
            self._bytes += num_bytes
            self._seconds += seconds

    def seconds(self, num_bytes: Iterable[int]) -> float:
        """Until models with so many bytes are loaded."""
        return sum(num_bytes) * self._seconds / self._bytes


def ask_to_leave(residents: Sequence[Resident[LoadedT]]) -> float | None:
    """Give no more leases of the model whose last request is oldest -> the seconds until a model
    may leave, or None if one is leaving."""
    now = time.monotonic()
    if any(resident.is_leaving for resident in residents):
        return None
    if closable := [one for one in residents if one.may_leave_seconds <= now]:
        min(closable, key=lambda resident: resident.used_seconds).is_leaving = True
        return None
    return min(resident.may_leave_seconds for resident in residents) - now
