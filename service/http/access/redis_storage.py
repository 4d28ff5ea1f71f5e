"""Counters in Redis. Needs dragoman[redis]."""

from __future__ import annotations

from limits.aio.storage import RedisStorage
from redis.asyncio import ConnectionPool

_MAX_CONNECTIONS = 64


class RedisCounters(RedisStorage):
    """The library's storage, with a pool of connections that can be closed.

    Failures are raised as limits.errors.StorageError.
    """

    def __init__(self, url: str, timeout_seconds: float) -> None:
        """Raises ValueError for a URL that the client does not understand."""
        self._pool = ConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
        )
        super().__init__(
            "async+redis://",
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix="dragoman",
            connection_pool=self._pool,  # type: ignore[arg-type]
        )

    async def close(self) -> None:
        await self._pool.disconnect()
