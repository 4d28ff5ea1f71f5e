"""Keys and their usage in memory, kept current by a thread: no request reads the database."""

from __future__ import annotations

import calendar
import contextlib
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from service.errors import InvalidKey, QuotaExceeded, StorageFailed
from service.periodic import repeated
from service.stores.api_key import ApiKey, read_key
from service.stores.keys import KeyStore, UsageKey, Used, month_of

REFRESH_SECONDS = 0.5
_WORDS = "Invalid API key"
"""LibreTranslate's. Unknown, wrong, revoked and expired keys are not told apart."""


class _Read(NamedTuple):
    """The result of a refresh; None: unchanged."""

    keys: dict[str, ApiKey] | None
    usage: Mapping[UsageKey, Used] | None
    version: tuple[int, str]


class UsageLedger:
    """The usage of each key this month, in memory, and the part that is still to be stored.

    A request reserves its characters when it is admitted, so that two requests cannot both take the
    last of a quota. When it ends they are used or given back, once. Used on the event loop only.
    `clock`: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._stored: dict[UsageKey, Used] = {}
        self._unstored: dict[UsageKey, Used] = {}
        self._reserved: Counter[str] = Counter()

    def used(self, key: ApiKey) -> Used:
        """The usage of the key this month."""
        this_month = (key.id, month_of(self._clock()))
        return self._stored.get(this_month, Used()) + self._unstored.get(this_month, Used())

    def reserve(self, key: ApiKey, num_characters: int) -> None:
        """Set characters of the key's quota aside. Raises QuotaExceeded."""
        quota = key.options.characters_per_month
        used = self.used(key).characters + self._reserved[key.id]
        if quota and used + num_characters > quota:
            raise QuotaExceeded(
                f"Quota exceeded: {quota} characters a month are allowed for this key",
                self._seconds_of_month_left(),
            )
        self._reserved[key.id] += num_characters

    def settle(self, key: ApiKey, num_characters: int, *, is_used: bool) -> None:
        """End a reservation: the characters are used, or given back."""
        self._reserved[key.id] -= num_characters
        if not self._reserved[key.id]:
            del self._reserved[key.id]
        if is_used:
            this_month = (key.id, month_of(self._clock()))
            used = Used(requests=1, characters=num_characters)
            self._unstored[this_month] = self._unstored.get(this_month, Used()) + used

    def unstored(self) -> Mapping[UsageKey, Used]:
        """A copy of the usage that is still to be stored."""
        return dict(self._unstored)

    def mark_stored(self, usage: Mapping[UsageKey, Used]) -> None:
        """`usage`, which `unstored` gave, is in the database now."""
        for key, used in usage.items():
            self._stored[key] = self._stored.get(key, Used()) + used
            newer = self._unstored[key]
            left = Used(newer.requests - used.requests, newer.characters - used.characters)
            if left == Used():
                del self._unstored[key]
            else:
                self._unstored[key] = left

    def replace_stored(self, usage: Mapping[UsageKey, Used]) -> None:
        """`usage` is that of the database, other processes included."""
        self._stored = dict(usage)

    def _seconds_of_month_left(self) -> int:
        now = self._clock()
        date = time.gmtime(now)
        days = calendar.monthrange(date.tm_year, date.tm_mon)[1]
        ends = calendar.timegm((date.tm_year, date.tm_mon, days, 24, 0, 0))
        return max(1, math.ceil(ends - now))


class KeyRing:
    """Valid keys by their secret, and what they have used.

    `refresh` brings changes of the database, from any process, and then stores what was used. If
    the database cannot be read, the keys stay as they were; if it cannot be written, usage is
    stored later.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float] = time.time) -> None:
        """Raises StorageFailed."""
        self._store, self._clock = store, clock
        self.usage = UsageLedger(clock)
        self._version: tuple[int, str] | None = None
        self._use(self._read())

    def find(self, written: str) -> ApiKey:
        """The key that a client sent. Raises InvalidKey."""
        presented = read_key(written)
        key = None if presented is None else self._keys.get(presented.id)
        if key is None or presented is None or not presented.matches(key):
            raise InvalidKey(_WORDS)
        if not key.is_valid(self._clock()):
            raise InvalidKey(_WORDS)
        return key

    async def refresh(self) -> None:
        """Read changes and store new usage, in a thread. Raises StorageFailed."""
        self._use(await run_in_threadpool(self._read))
        if usage := self.usage.unstored():
            await run_in_threadpool(self._store.add_usage, usage)
            self.usage.mark_stored(usage)

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncGenerator[None]:
        """Refresh twice a second inside the block, and store what was used at its end."""
        with contextlib.closing(self._store):
            async with repeated(self._refresh_if_possible, REFRESH_SECONDS):
                yield

    async def _refresh_if_possible(self) -> None:
        with contextlib.suppress(StorageFailed):
            await self.refresh()

    def _read(self) -> _Read:
        version = (self._store.version(), month_of(self._clock()))
        if version == self._version:
            return _Read(None, None, version)
        return _Read(self._store.read_keys(), self._store.read_usage(version[1]), version)

    def _use(self, read: _Read) -> None:
        self._version = read.version
        if read.keys is not None:
            self._keys = read.keys
        if read.usage is not None:
            self.usage.replace_stored(read.usage)
