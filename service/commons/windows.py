"""Limits of a minute, counted by the library `limits` in memory or in Redis."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING, Protocol

from limits.aio.storage import MemoryStorage
from limits.errors import StorageError

from service import install_command

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool

_SECONDS = 60
_MAX_COUNTERS = 100_000
_REDIS_SECONDS = 0.25
_MEMORY_SECONDS = 5.0
_MAX_CONNECTIONS = 64
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
_logger = logging.getLogger(__name__)


class WindowStorage(Protocol):
    """The parts of a storage of `limits` that the sliding window counter uses."""

    async def acquire_sliding_window_entry(
        self, key: str, limit: int, expiry: int, amount: int = 1
    ) -> bool: ...

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]: ...


class BoundedMemory(MemoryStorage):
    """The library's storage in memory, with a bounded number of counters.

    The library looks through all counters after each hit, on the event loop. Here a hit drops only
    the expired counters at the front, which is the oldest.
    """

    def __init__(self, max_counters: int = _MAX_COUNTERS) -> None:
        super().__init__()
        self._max_counters = max_counters

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        now = time.time()
        self.storage[key] += amount
        self.expirations.setdefault(key, now + expiry)
        while self.expirations:
            oldest = next(iter(self.expirations))
            is_over = len(self.expirations) > self._max_counters
            if self.expirations[oldest] > now and not is_over:
                break
            del self.expirations[oldest], self.storage[oldest]
        return self.storage[key]


class MinuteWindows:
    """Counts what each client does in a sliding minute.

    If Redis fails, this process counts in memory for some seconds and then tries Redis again.
    """

    def __init__(self, redis_url: str | None = None) -> None:
        """Raises ValueError for what is no URL of Redis, and without the package redis."""
        self._memory: WindowStorage = BoundedMemory()
        self._redis: WindowStorage | None = None
        if redis_url is not None:
            self._redis, self._pool = _connect(redis_url)
        self._memory_until_seconds = 0.0

    async def count(
        self, name: str, limit: int, amount: int = 1, *, is_test: bool = False
    ) -> int | None:
        """Count `amount`, at most `limit`, under a name, unless it would exceed the limit.

        Returns None, or after how many seconds it would not. `is_test`: count nothing.
        """
        if self._redis is not None and time.monotonic() >= self._memory_until_seconds:
            try:
                async with asyncio.timeout(_REDIS_SECONDS):
                    return await _count(self._redis, name, limit, amount, is_test=is_test)
            except (StorageError, OSError) as failure:  # TimeoutError, too
                self._memory_until_seconds = time.monotonic() + _MEMORY_SECONDS
                _logger.warning("limits are counted in memory: Redis %s", _what_fails(failure))
        return await _count(self._memory, name, limit, amount, is_test=is_test)

    async def close(self) -> None:
        """Close the connections to Redis."""
        if self._redis is not None:
            await self._pool.disconnect()


async def _count(
    storage: WindowStorage, name: str, limit: int, amount: int, *, is_test: bool
) -> int | None:
    if not is_test and await storage.acquire_sliding_window_entry(name, limit, _SECONDS, amount):
        return None
    window = await storage.get_sliding_window(name, _SECONDS)
    seconds = _seconds_to_wait(window, limit, amount)
    if is_test:
        return seconds or None
    return max(1, seconds)


def _seconds_to_wait(window: tuple[int, float, int, float], limit: int, amount: int) -> int:
    """Until the sliding window has room for `amount`; 0: it has.

    The count is that of the current minute, and of the previous one the share that still lies in
    the sliding window: it decreases by `previous / 60` a second.
    """
    previous, previous_seconds, current, current_seconds = window
    room = limit - amount + 1  # the library rounds the count down
    weighted = previous * previous_seconds / _SECONDS + current
    if weighted < room:
        return 0
    if current < room:
        return math.ceil(previous_seconds - (room - current) * _SECONDS / previous + 0.001)
    return math.ceil(current_seconds - room * _SECONDS / current + 0.001)


def _what_fails(failure: StorageError | OSError) -> str:
    """Without the arguments that Redis may repeat, which have a client's address."""
    reason = failure.storage_error if isinstance(failure, StorageError) else failure
    if isinstance(reason, TimeoutError):
        return f"does not answer within {_REDIS_SECONDS} s"
    return f"fails ({str(reason).partition(', with args')[0]})"


def _connect(url: str) -> tuple[WindowStorage, ConnectionPool]:
    """Its failures are raised as StorageError. Raises ValueError."""
    if not url.startswith(_REDIS_SCHEMES):
        raise ValueError(f"the URL must begin with {' or '.join(_REDIS_SCHEMES)}")
    try:
        from limits.aio.storage import RedisStorage
        from redis.asyncio import BlockingConnectionPool
        from redis.exceptions import RedisError
    except ImportError as error:
        raise ValueError(f"it needs {install_command('redis')}") from error
    try:
        pool = BlockingConnectionPool.from_url(  # more requests at once wait for a connection
            url,
            timeout=_REDIS_SECONDS,
            max_connections=_MAX_CONNECTIONS,
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
        )
    except ValueError:  # it may show a part of the password
        raise ValueError("the URL is malformed; %2F is / in a password") from None
    try:
        pool.make_connection()  # type: ignore[no-untyped-call]  # looks at the options only
    except (AttributeError, RedisError, TypeError):  # likewise
        raise ValueError(
            "the URL has an option that Redis' client does not know, or a wrong value of one; "
            "%3F is ? in a password"
        ) from None
    storage = RedisStorage(
        "async+redis://",
        wrap_exceptions=True,
        implementation="redispy",
        key_prefix="dragoman",
        connection_pool=pool,  # type: ignore[arg-type]
    )
    return storage, pool
