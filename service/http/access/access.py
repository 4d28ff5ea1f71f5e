"""The rules of access that all requests share."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from service.errors import LimitExceeded, TooManyAtOnce
from service.http.access.key_ring import KeyRing
from service.http.access.windows import MinuteWindows
from service.stores.api_key import ApiKey, ClientLimits
from service.stores.keys import Used

_AT_ONCE_RETRY_SECONDS = 1


@dataclass(frozen=True)
class Client:
    """Whom limits hold for: a key, or an address without one."""

    name: str
    kind: str
    limits: ClientLimits
    key: ApiKey | None = None


class Access:
    """Keys, limits and counters. `ring` is None if keys are off."""

    def __init__(
        self,
        ring: KeyRing | None,
        windows: MinuteWindows,
        limits: ClientLimits,
        *,
        is_key_required: bool,
    ) -> None:
        self.ring, self.is_key_required = ring, is_key_required
        self._windows, self._limits = windows, limits
        self._num_at_once: Counter[str] = Counter()

    @property
    def is_open(self) -> bool:
        """Whether anybody may do anything."""
        return self.ring is None and self._limits == ClientLimits()

    def client_of_address(self, address: str) -> Client:
        return Client(f"address/{address}", "address", self._limits)

    def client_of_key(self, written: str) -> Client | None:
        """None if keys are off. Raises InvalidKey."""
        if self.ring is None:
            return None
        key = self.ring.find(written)
        return Client(f"key/{key.id}", "key", key.limits(self._limits), key)

    def used(self, client: Client) -> Used:
        """What a client's key has used this month."""
        if self.ring is None or client.key is None:
            return Used()
        return self.ring.usage.used(client.key)

    async def take(
        self, client: Client, error: type[LimitExceeded], what: str, limit: int, amount: int = 1
    ) -> None:
        """Count `amount` of the client's minute. Raises `error`."""
        if limit and (seconds := await self._windows.take(client.name, what, limit, amount)):
            raise error(_over(client, limit, what), seconds)

    async def test(self, client: Client, error: type[LimitExceeded], what: str, limit: int) -> None:
        """Raise `error` if the client's minute has no room for one more."""
        if limit and (seconds := await self._windows.test(client.name, what, limit)):
            raise error(_over(client, limit, what), seconds)

    @contextlib.contextmanager
    def at_once(self, client: Client) -> Iterator[None]:
        """Count a request as in progress inside the block. Raises TooManyAtOnce."""
        limit = client.limits.concurrent_requests
        if limit and self._num_at_once[client.name] >= limit:
            raise TooManyAtOnce(
                f"Slowdown: {limit} requests at the same time are allowed for this {client.kind}",
                _AT_ONCE_RETRY_SECONDS,
            )
        self._num_at_once[client.name] += 1
        try:
            yield
        finally:
            self._num_at_once[client.name] -= 1
            if not self._num_at_once[client.name]:
                del self._num_at_once[client.name]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the keys current inside the block."""
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._windows.close)
            if self.ring is not None:
                await stack.enter_async_context(self.ring.kept_current())
            yield


def _over(client: Client, limit: int, what: str) -> str:
    """LibreTranslate's word first."""
    return f"Slowdown: {limit} {what} per minute are allowed for this {client.kind}"
