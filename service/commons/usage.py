"""What each key has used this month, in memory, and its storing: no request reads the database."""

from __future__ import annotations

import calendar
import contextlib
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping

from starlette.concurrency import run_in_threadpool

from service.periodic import repeated
from service.stores.keys import KeyStore, UsageKey, Used, month_of

REFRESH_SECONDS = 0.5


class UsageLedger:
    """The usage of each key this month, and the part that is still to be stored.

    A request reserves its characters when it is admitted, so that two requests cannot both take the
    last of a quota. When it ends they are used or given back, once. Used on the event loop only.
    If the database cannot be written, usage is stored later.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since the epoch. Raises StorageFailed."""
        self._store, self._clock = store, clock
        self._version: tuple[int, str] | None = None
        self._stored: Mapping[UsageKey, Used] = {}
        self._unstored: dict[UsageKey, Used] = {}
        self._reserved: Counter[str] = Counter()
        self._use(self._read())

    async def used(self, key_id: str) -> Used:
        """The usage of the key this month."""
        return self._used(key_id)

    async def reserve(self, key_id: str, num_characters: int, quota: int) -> bool:
        """Set characters aside; False if the key would have more than its quota. 0 is no quota."""
        used = self._used(key_id).characters + self._reserved[key_id]
        if quota and used + num_characters > quota:
            return False
        self._reserved[key_id] += num_characters
        return True

    def settle(self, key_id: str, num_characters: int, *, is_used: bool) -> None:
        """End a reservation: the characters are used, or given back."""
        self._reserved[key_id] -= num_characters
        if not self._reserved[key_id]:
            del self._reserved[key_id]
        if is_used:
            this_month = (key_id, month_of(self._clock()))
            used = Used(requests=1, characters=num_characters)
            self._unstored[this_month] = self._unstored.get(this_month, Used()) + used

    async def refresh(self) -> None:
        """Read what other processes have stored, and store new usage, in a thread. Raises
        StorageFailed."""
        self._use(await run_in_threadpool(self._read))
        if usage := dict(self._unstored):
            await run_in_threadpool(self._store.add_usage, usage)
            self._mark_stored(usage)

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncGenerator[None]:
        """Refresh twice a second inside the block, and store what was used at its end."""
        async with repeated(self.refresh, REFRESH_SECONDS):
            yield

    def _used(self, key_id: str) -> Used:
        this_month = (key_id, month_of(self._clock()))
        return self._stored.get(this_month, Used()) + self._unstored.get(this_month, Used())

    def _read(self) -> tuple[tuple[int, str], Mapping[UsageKey, Used] | None]:
        """The version, and what the database has; None: unchanged."""
        version = (self._store.version(), month_of(self._clock()))
        return version, None if version == self._version else self._store.read_usage(version[1])

    def _use(self, read: tuple[tuple[int, str], Mapping[UsageKey, Used] | None]) -> None:
        self._version, usage = read
        if usage is not None:
            self._stored = usage

    def _mark_stored(self, usage: Mapping[UsageKey, Used]) -> None:
        """This part is in the database now."""
        stored = dict(self._stored)
        for key, used in usage.items():
            stored[key] = stored.get(key, Used()) + used
            newer = self._unstored[key]
            left = Used(newer.requests - used.requests, newer.characters - used.characters)
            if left == Used():
                del self._unstored[key]
            else:
                self._unstored[key] = left
        self._stored = stored


def seconds_of_month_left(now: float) -> int:
    """From this time since the epoch to the end of its month in UTC, at least 1."""
    date = time.gmtime(now)
    days = calendar.monthrange(date.tm_year, date.tm_mon)[1]
    ends = calendar.timegm((date.tm_year, date.tm_mon, days, 24, 0, 0))
    return max(1, math.ceil(ends - now))
