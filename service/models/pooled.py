"""Versions of models that may be in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from service.engine.pooled_engine import PooledEngine
from service.observability.metrics import ModelMetrics


class Loaded(Protocol):
    """A model in memory."""

    @property
    def engine(self) -> PooledEngine: ...


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
    metrics: ModelMetrics
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


@dataclass(eq=False)
class LeaseRequest(Generic[LoadedT]):
    """A request that waits for its models; it has its leases when `granted` is done."""

    models: Sequence[PooledModel[LoadedT]]
    granted: asyncio.Future[None]
    residents: Sequence[Resident[LoadedT]] = ()
