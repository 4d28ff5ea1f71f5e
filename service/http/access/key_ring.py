"""Keys in memory, kept current by a thread: no request reads the database."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Callable

from starlette.concurrency import run_in_threadpool

from service.commons.usage import REFRESH_SECONDS
from service.errors import InvalidKey
from service.periodic import repeated
from service.stores.api_key import ApiKey, read_key
from service.stores.keys import KeyStore

_WORDS = "Invalid API key"
"""LibreTranslate's. Unknown, wrong, revoked and expired keys are not told apart."""


class KeyRing:
    """Valid keys by their secret.

    `refresh` brings changes of the database, from any process. If the database cannot be read, the
    keys stay as they were.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float] = time.time) -> None:
        """Raises StorageFailed."""
        self._store, self._clock = store, clock
        self._version = store.version()
        self._keys = store.read_keys()

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
        """Read changes, in a thread. Raises StorageFailed."""
        if (version := await run_in_threadpool(self._store.version)) != self._version:
            self._keys = await run_in_threadpool(self._store.read_keys)
            self._version = version

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncGenerator[None]:
        """Refresh twice a second inside the block; close the database at its end."""
        with contextlib.closing(self._store):
            async with repeated(self.refresh, REFRESH_SECONDS):
                yield
