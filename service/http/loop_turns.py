"""Bound the requests that a turn of the event loop lets in while it falls behind.

A turn reads all connections that have something and starts their requests. In a flood turns grow to
seconds; all clients wait in the system's queues, of which the engines know nothing, so that nobody
is refused. As with CoDel (Nichols and Jacobson, "Controlling Queue Delay", 2012) one long turn is
only a burst; if all turns of a second are long, the requests that do not fit into a short one are
refused until none was for a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LONG_SECONDS = 0.25
SUSTAINED_SECONDS = 1.0
_WANTED_SECONDS = 0.1
_LEAST = 16


class LoopTurns:
    """Counts the requests that were let in and are not started yet, and measures turns."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.num_let_in = 0
        self._began_seconds = 0.0
        self._long_since: float | None = None
        self._most: int | None = None
        self._calm_since: float | None = None
        self._has_refused = False

    def is_full(self) -> bool:
        """Whether the next request of this turn must be refused."""
        if self._most is None or self.num_let_in < self._most:
            return False
        self._has_refused = True
        return True

    def let_in(self) -> None:
        """Count a request until the event loop starts it."""
        if not self.num_let_in:
            self._began_seconds = self._clock()
            asyncio.get_running_loop().call_soon(self._end_reading)
        self.num_let_in += 1

    def _end_reading(self) -> None:
        """Runs before the requests; what it schedules runs after them and the next reading."""
        num_requests, self.num_let_in = self.num_let_in, 0
        loop = asyncio.get_running_loop()
        loop.call_soon(self._end_turn, self._began_seconds, num_requests)

    def _end_turn(self, began_seconds: float, num_requests: int) -> None:
        now = self._clock()
        self.observe(now, now - began_seconds, num_requests)

    def observe(self, now: float, seconds: float, num_requests: int) -> None:
        """A turn that has just ended took so long, and let in so many."""
        self._long_since = None if seconds <= LONG_SECONDS else self._long_since or now
        self._calm_since = None if self._has_refused else self._calm_since or now
        self._has_refused = False
        if self._most is not None and _has_lasted(self._calm_since, now):
            self._most = self._long_since = None
        elif self._most is not None or _has_lasted(self._long_since, now):
            self._calm_since = self._calm_since if self._most else now
            self._most = max(_LEAST, int(num_requests * _WANTED_SECONDS / seconds))


def _has_lasted(since: float | None, now: float) -> bool:
    return since is not None and now - since >= SUSTAINED_SECONDS
