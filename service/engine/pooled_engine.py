"""What a pool of models asks of an engine besides translations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from service.engine.sentence_engine import SentenceEngine
from service.errors import NotReady


def not_running(name: str | None = None) -> NotReady:
    """The error of an engine that does no work now; `name`: of its model."""
    subject = f"the engine of {name}" if name else "the engine"
    return NotReady(f"{subject} is not running; try again later")


class PooledEngine(SentenceEngine):
    """The engine of a model that comes into memory and leaves it."""

    used_seconds: float = 0.0
    """When the last request of another process arrived, on the monotonic clock."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the engine accepts new work."""

    @abstractmethod
    def gauges(self) -> Mapping[str, float]:
        """The values of ENGINE_GAUGES."""

    @abstractmethod
    def start(self) -> None:
        """Work from now on, on the running event loop."""

    @abstractmethod
    def stop(self) -> None:
        """Fail all running and waiting sentences, and let the memory go. Any thread may call
        it."""

    @abstractmethod
    def refuse_new_work(self) -> None:
        """Continue only admitted work, including its second hop after a pivot."""

    @abstractmethod
    def require_ready(self, name: str | None = None) -> None:
        """Raise NotReady or Draining unless new work is accepted; `name` names the engine."""

    @abstractmethod
    def has_room(self, client: str) -> bool:
        """Whether one more sentence of a client may wait now."""
