"""What each key has used this month, in memory, and what of it is still to be stored.

A request reserves its characters when it is admitted, so that two requests cannot both take the
last of a quota. When it ends they are used or given back, once.
"""

from __future__ import annotations

import calendar
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping

from service.errors import QuotaExceeded
from service.stores.api_key import ApiKey
from service.stores.keys import UsageKey, Used, month_of


class UsageLedger:
    """Used on the event loop only. `clock`: seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._stored: dict[UsageKey, Used] = {}
        self._unstored: dict[UsageKey, Used] = {}
        self._reserved: Counter[str] = Counter()

    def used(self, key: ApiKey) -> Used:
        """What the key has used this month."""
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
        """A copy of what is still to be stored."""
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
        """`usage` is what the database has, also from other processes."""
        self._stored = dict(usage)

    def _seconds_of_month_left(self) -> int:
        now = self._clock()
        date = time.gmtime(now)
        days = calendar.monthrange(date.tm_year, date.tm_mon)[1]
        ends = calendar.timegm((date.tm_year, date.tm_mon, days, 24, 0, 0))
        return max(1, math.ceil(ends - now))
