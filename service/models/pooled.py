"""Versions of models that may be in memory."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from model.checkpoint import is_damage
from service.engine.pooled_engine import PooledEngine
from service.errors import NotReady
from service.observability.metrics import LoadMetrics
from service.translation.leases import ModelChanged


class Loaded(Protocol):
    """A model in memory."""

    @property
    def engine(self) -> PooledEngine: ...


class FailedElsewhere(ValueError):
    """A load that failed in another process, which has counted and logged it."""

    def __init__(self, reason: str, *, is_damage: bool) -> None:
        super().__init__(reason)
        self.is_damage = is_damage


_logger = logging.getLogger(__name__)
_FIRST_RATE = 50e6
"""Bytes of files loaded a second: an assumption until one was loaded."""
_PATIENCE_SECONDS = 1.0
"""In which a model that was asked to leave may do so before another is asked, too."""
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
    asked_seconds: float = -math.inf
    """When it was asked to leave."""
    is_gone: bool = False

    def ask_to_leave(self) -> None:
        if not self.is_leaving:
            self.is_leaving, self.asked_seconds = True, time.monotonic()

    @property
    def last_seconds(self) -> float:
        """When it was used last, by a lease or by what has one."""
        return max(self.used_seconds, self.loaded.engine.used_seconds)


@dataclass(eq=False)
class PooledModel(Generic[LoadedT]):
    """A version of a model that may be in memory. Pinned ones stay as long as they are offered.
    `own_key`: where several versions are offered; `failure`: why the last load failed;
    `is_damaged`: because its files are wrong."""

    name: str
    loadable: Loadable[LoadedT]
    metrics: LoadMetrics
    is_pinned: bool = False
    own_key: str = ""
    resident: Resident[LoadedT] | None = None
    is_loading: bool = False
    failed_seconds: float = float("-inf")
    failure: str | None = None
    is_damaged: bool = False

    @property
    def key(self) -> str:
        """What it is leased by."""
        return self.own_key or self.name

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
        if isinstance(error, FailedElsewhere):
            self.failure, self.is_damaged = str(error), error.is_damage
            return
        self.metrics.count_load_failure()
        if self.failure != str(error):
            _logger.error("the model %s cannot be loaded: %s", self.name, error)
        self.failure, self.is_damaged = str(error), is_damage(error)


Reserve = Callable[[Sequence[PooledModel[LoadedT]]], AbstractAsyncContextManager[None]]


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


def hold(models: Sequence[PooledModel[LoadedT]]) -> Sequence[Resident[LoadedT]] | None:
    """Take a lease of each, or of none if one is not in memory."""
    residents = [usable for model in models if (usable := model.usable)]
    if len(residents) < len(models):
        return None
    for resident in residents:
        resident.num_leases += 1
        resident.used_seconds = time.monotonic()
    return residents


def measure(model: PooledModel[LoadedT], offered: Mapping[str, PooledModel[LoadedT]]) -> None:
    """Set the gauges of the model to its offered version, or to the newest that is in memory."""
    versions = [one for one in offered.values() if one.name == model.name]
    residents = [one.resident for one in versions if one.resident]
    if residents:
        model.metrics.watch_engine(residents[-1].loaded.engine.gauges, residents[-1].num_bytes)
    elif versions:
        model.metrics.forget_engine()
    else:
        model.metrics.forget_model()


def ask_oldest_to_leave(residents: Sequence[Resident[LoadedT]]) -> float:
    """Give no more leases of the model whose last request is oldest, and of another if that does
    not leave soon -> the seconds until another may be asked."""
    now = time.monotonic()
    seconds = max(one.asked_seconds for one in residents) + _PATIENCE_SECONDS - now
    if seconds > 0:
        return seconds
    staying = [one for one in residents if not one.is_leaving]
    if closable := [one for one in staying if one.may_leave_seconds <= now]:
        min(closable, key=lambda resident: resident.last_seconds).ask_to_leave()
        return _PATIENCE_SECONDS
    return min((one.may_leave_seconds for one in staying), default=math.inf) - now


def changed(name: str) -> ModelChanged:
    return ModelChanged(f"the model {name} has just been removed or replaced")


def cannot_load(name: str) -> NotReady:
    return NotReady(f"the model {name} cannot be loaded; the server's log says why")
