"""A queue of long work that is fair between clients."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


class FairQueue:
    """Runs at most `max_running` works at a time, and `max_of_client` of a client.

    The next is of the client with the fewest running, and among these of the one whose last turn is
    longest ago. Used on the event loop only.
    """

    def __init__(self, max_running: int, max_of_client: int) -> None:
        self._max_running, self._max_of_client = max_running, max_of_client
        self._waiting: OrderedDict[str, OrderedDict[str, Work]] = OrderedDict()
        """By client, in the order of their turns, then by name."""
        self._running: dict[str, asyncio.Task[None]] = {}
        self._num_running: Counter[str] = Counter()
        """Of each client."""
        self._num_paused = 0

    @property
    def num_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    @property
    def num_running(self) -> int:
        return len(self._running)

    def add(self, name: str, client: str, work: Work) -> None:
        """Run the work in its turn; the name is of no other work."""
        self._waiting.setdefault(client, OrderedDict())[name] = work
        self._start()

    def cancel(self, name: str) -> bool:
        """Cancel the work; True if it waits, so that it never runs."""
        if task := self._running.get(name):
            _cancel(task)
        for client in [client for client, own in self._waiting.items() if name in own]:
            self._take(client, name)
            return True
        return False

    async def cancel_all(self) -> list[str]:
        """Cancel all work, and wait until none runs -> the names of those that never run."""
        names = [name for own in self._waiting.values() for name in own]
        self._waiting.clear()
        tasks = list(self._running.values())
        for task in tasks:
            _cancel(task)
        await asyncio.gather(*tasks, return_exceptions=True)
        return names

    @contextlib.contextmanager
    def pausing(self) -> Iterator[None]:
        """Running work does nothing inside the block, so that another client's may run."""
        self._num_paused += 1
        self._start()
        try:
            yield
        finally:
            self._num_paused -= 1

    def _start(self) -> None:
        """Start what has a place."""
        while len(self._running) - self._num_paused < self._max_running:
            if (client := self._next_client()) is None:
                return
            self._waiting.move_to_end(client)
            name = next(iter(self._waiting[client]))
            task = asyncio.ensure_future(self._take(client, name)())
            self._running[name] = task
            self._num_running[client] += 1
            task.add_done_callback(functools.partial(self._end, name, client))

    def _next_client(self) -> str | None:
        having = (one for one in self._waiting if self._num_running[one] < self._max_of_client)
        return min(having, key=self._num_running.__getitem__, default=None)

    def _take(self, client: str, name: str) -> Work:
        """Remove a work that waits."""
        own = self._waiting[client]
        work = own.pop(name)
        if not own:
            del self._waiting[client]
        return work

    def _end(self, name: str, client: str, _: asyncio.Task[None]) -> None:
        del self._running[name]
        self._num_running -= Counter([client])  # without those of none
        self._start()


def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel it after its first step, without which it would end nothing."""
    asyncio.get_running_loop().call_soon(task.cancel)
