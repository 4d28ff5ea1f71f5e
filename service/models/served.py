"""What the rest of the server sees of the models, whichever process has them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

from service.engine.batch_loop import BatchEntry
from service.engine.engine import Engine
from service.translation.dispatcher import Dispatcher

_STATES = ("stored", "loading", "loaded")


@dataclass(frozen=True)
class ModelState:
    """An offered model. `num_bytes`: the memory that it takes, or would take; `num_leases`: the
    requests that have it now."""

    name: str
    state: Literal["loaded", "loading", "stored"]
    is_pinned: bool
    num_bytes: int
    num_leases: int
    sources: Sequence[str]
    targets: Sequence[str]

    def with_other(self, other: ModelState) -> ModelState:
        """The same model, as another process sees it, too."""
        most = max(self, other, key=lambda one: _STATES.index(one.state))
        return replace(most, num_leases=self.num_leases + other.num_leases)


def states_of_all(told: Iterable[Sequence[ModelState]]) -> list[ModelState]:
    """What several processes tell, in the order of the first."""
    found: dict[str, ModelState] = {}
    for states in told:
        for state in states:
            known = found.get(state.name)
            found[state.name] = state if known is None else known.with_other(state)
    return [*found.values()]


class Batches(NamedTuple):
    """Of each model in memory: the batch of each worker, and the number of waiting sentences."""

    entries: Mapping[str, Sequence[Sequence[BatchEntry]]]
    num_waiting: Mapping[str, int]

    @classmethod
    def of(cls, engines: Mapping[str, Engine], since: float) -> Batches:
        """Those of this process, with what left them after this monotonic time."""
        return cls(
            {name: engine.batch_entries(since) for name, engine in engines.items()},
            {name: engine.num_waiting for name, engine in engines.items()},
        )


class ServedModels(Protocol):
    """The models that requests may ask for, and their engines."""

    dispatcher: Dispatcher

    @property
    def names(self) -> Sequence[str]:
        """Those that are offered now."""
        ...

    @property
    def may_change(self) -> bool:
        """Whether models come and go, as those of a store do."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Inside the block the engines work."""
        ...

    def require_ready(self) -> None:
        """Raise NotReady or Draining unless every model in memory accepts new work."""
        ...

    def refuse_new_work(self) -> None:
        """Continue only admitted work."""
        ...

    async def stop(self) -> None:
        """Fail all running and waiting work."""
        ...

    async def states(self) -> list[ModelState]:
        """Of all offered models, in order of their routes."""
        ...

    async def reload(self, name: str) -> ModelState:
        """Take the version of a model that the store has now. Raises a ServiceError."""
        ...

    async def batches(self, since: float) -> Batches:
        """What is in the batches, and what left them after this monotonic time."""
        ...

    async def render_metrics(self) -> bytes:
        """All metrics of the server, in Prometheus' text format."""
        ...

    async def render_engines(self) -> bytes:
        """The engines' current state, in the same format."""
        ...
