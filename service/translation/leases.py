"""What translation needs of whoever has models in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from service.engine.ticket import Ticket
from service.translation.translator import Translator


class ModelChanged(Exception):
    """A version is not offered any more; a request for it must be routed again."""


class Leases(Protocol):
    """Models in memory, which stay there while they are leased."""

    def lease(
        self, names: Sequence[str], ticket: Ticket
    ) -> AbstractAsyncContextManager[Sequence[Translator]]:
        """The models of a request, until the block ends; waits at most until the ticket's deadline.
        Raises a ServiceError, or ModelChanged."""
        ...

    def require_room(self, client: str) -> None:
        """Raise a ServiceError if no model could accept one more sentence of a client now."""
        ...

    def require_ready(self) -> None:
        """Raise NotReady or Draining unless every model in memory accepts new work."""
        ...
