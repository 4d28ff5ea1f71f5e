"""What translation needs of whoever has models in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from service.errors import ServiceError
from service.translation.translator import Translator


class ModelChanged(Exception):
    """A version is not offered any more; a request for it must be routed again."""


class Leases(Protocol):
    """Models in memory, which stay there while they are leased."""

    def lease(
        self, names: Sequence[str], ends_seconds: float | None
    ) -> AbstractAsyncContextManager[list[Translator]]:
        """The models of a request, until the block ends; waits at most until `ends_seconds`, on the
        monotonic clock. Raises a ServiceError, or ModelChanged."""
        ...

    def refusal(self, num_sentences: int, client: str) -> ServiceError | None:
        """An error if no model could accept this many more sentences of a client now."""
        ...

    def require_ready(self) -> None:
        """Raise NotReady or Draining unless every model in memory accepts new work."""
        ...
