"""Bound the memory that bodies take which are still being received."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from service.errors import Overloaded


class BodyBudget:
    """Bytes that all bodies which are being received may have together."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0

    @contextlib.contextmanager
    def hold(self, num_bytes: int) -> Iterator[None]:
        """Keep room for a body while it is received. The only one always has room.

        Raises Overloaded.
        """
        total = self._num_bytes + num_bytes
        if self._num_bytes and total > self._max_bytes:
            raise Overloaded(
                f"bodies of {self._num_bytes} bytes are being received; together they may have "
                f"{self._max_bytes}; try again later"
            )
        self._num_bytes = total
        try:
            yield
        finally:
            self._num_bytes -= num_bytes
