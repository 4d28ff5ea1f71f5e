"""The keys in memory, kept current by a thread, so that no request reads the database."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool

from service.errors import InvalidKey, StorageFailed
from service.http.access.usage import UsageLedger
from service.periodic import repeated
from service.stores.api_key import ApiKey, read_key
from service.stores.keys import KeyStore, UsageKey, Used, month_of

REFRESH_SECONDS = 0.5
_WORDS = "Invalid API key"
"""LibreTranslate's. Unknown, wrong, revoked and expired keys are not told apart."""


class _Read(NamedTuple):
    """What a refresh found; None: unchanged."""

    keys: dict[str, ApiKey] | None
    usage: Mapping[UsageKey, Used] | None
    version: tuple[int, str]


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
        self._take(self._read())

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
        self._take(await run_in_threadpool(self._read))
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

    def _take(self, read: _Read) -> None:
        self._version = read.version
        if read.keys is not None:
            self._keys = read.keys
        if read.usage is not None:
            self.usage.replace_stored(read.usage)
