"""Who sends a request, and how much of the server it may use: keys, addresses, limits, quotas."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import math
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from starlette.types import Scope

from service.errors import (
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    ServiceError,
    TextTooLong,
    TooManyAtOnce,
    TooManyCharacters,
    TooManyRequests,
    outcome_of,
)
from service.http.access.key_ring import KeyRing
from service.http.error_answers import GOOGLE
from service.http.head import HeaderValues
from service.http.request_fields import KEY_FIELDS
from service.stores.api_key import EVERYBODY, ApiKey, ClientLimits, Owner
from service.stores.keys import Used

if TYPE_CHECKING:
    from service.http.access.windows import MinuteWindows

GOOGLE_HEADER, _GOOGLE_FIELD = "X-Goog-Api-Key", "key"
_GOOGLE_NAME = GOOGLE_HEADER.lower().encode()
_SCHEMES = ("bearer", "deepl-auth-key")
_IPV6_PREFIX = 64
_MOST_ADDRESSES = 4096
UNKNOWN = "unknown"
_AT_ONCE_RETRY_SECONDS = 1
_NO_KEY = "Please contact the server operator to get an API key"
"""LibreTranslate's words."""
_REFUSAL_SECONDS = 0.1
"""A client that asks again at once is slowed down to ten refusals a second for each connection."""
_USED = ("ok", "cancelled")
"""Outcomes of requests whose characters count: answered ones, and those that the client gave up."""


def key_of_head(scope: Scope, headers: HeaderValues) -> str | None:
    """The key in `Authorization`, in Google's header or in the query; None: there is none."""
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    scheme, _, given = authorization.strip().partition(" ")
    if scheme.lower() in _SCHEMES and given.strip():
        return given.strip()
    return headers.get(_GOOGLE_NAME, b"").decode("latin-1") or _key_of_query(scope)


def _key_of_query(scope: Scope) -> str | None:
    query: bytes = scope["query_string"]
    if b"key=" not in query:
        return None
    names = (*KEY_FIELDS, _GOOGLE_FIELD) if scope["path"].startswith(GOOGLE) else KEY_FIELDS
    for field in query.decode("latin-1").split("&"):
        name, _, value = field.partition("=")
        if name in names and value:
            return unquote_plus(value)
    return None


def client_address(host: str | None) -> str:
    """An IPv4 address, or the network of an IPv6 address: one customer has 2^64 addresses.

    UNKNOWN for anything else, which a proxy may have forwarded.
    """
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))


@dataclass(frozen=True)
class Client:
    """Whom limits hold for: a key, or an address without one."""

    name: str
    kind: str
    limits: ClientLimits
    key: ApiKey | None = None


class Access:
    """Keys, limits and counters. `ring` is None if keys are off, `windows` if nobody has a limit of
    a minute; `is_open`: anybody may do anything."""

    def __init__(
        self,
        ring: KeyRing | None,
        windows: MinuteWindows | None,
        limits: ClientLimits,
        *,
        is_key_required: bool,
    ) -> None:
        self.ring, self.is_key_required = ring, is_key_required
        self.windows, self._limits = windows, limits
        self.is_open = ring is None and limits == ClientLimits()
        self._num_at_once: Counter[str] = Counter()
        self._client_at = functools.lru_cache(_MOST_ADDRESSES)(self._make_client)

    def caller(self, scope: Scope) -> Caller:
        """The caller of a request or a websocket, by its address."""
        host, _ = scope.get("client") or (None, 0)
        return Caller(self, self._client_at(host))

    def _make_client(self, host: str | None) -> Client:
        return Client(f"address/{client_address(host)}", "address", self._limits)

    def client_of_key(self, written: str) -> Client | None:
        """None if keys are off. Raises InvalidKey."""
        if self.ring is None:
            return None
        key = self.ring.find(written)
        return Client(f"key/{key.id}", "key", key.limits(self._limits), key)

    def take_place(self, client: Client) -> None:
        """Count a request as in progress until `leave_place`. Raises TooManyAtOnce."""
        limit = client.limits.concurrent_requests
        if limit and self._num_at_once[client.name] >= limit:
            raise TooManyAtOnce(
                f"Slowdown: {limit} requests at the same time are allowed for this {client.kind}",
                _AT_ONCE_RETRY_SECONDS,
            )
        self._num_at_once[client.name] += 1

    def leave_place(self, client: Client) -> None:
        self._num_at_once[client.name] -= 1
        if not self._num_at_once[client.name]:
            del self._num_at_once[client.name]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the keys current inside the block."""
        async with contextlib.AsyncExitStack() as stack:
            if self.windows is not None:
                stack.push_async_callback(self.windows.close)
            if self.ring is not None:
                await stack.enter_async_context(self.ring.kept_current())
            yield


class Caller:
    """Identifies a request's client by the key in its head, in its fields, or by its address.

    A request counts once, for the key if it has a valid one, else for the address. It holds one of
    the client's places until `leave`.
    """

    def __init__(self, access: Access, client: Client) -> None:
        """`client`: that of its address."""
        self._access, self._client = access, client
        self._is_identified = access.is_open
        self._num_characters = 0
        self._placed: Client | None = None

    @property
    def name(self) -> str:
        """The client's, a key's or an address's."""
        return self._client.name

    @property
    def used(self) -> Used:
        """The usage of the client's key this month."""
        ring, key = self._access.ring, self._client.key
        return Used() if ring is None or key is None else ring.usage.used(key)

    @property
    def owner(self) -> Owner:
        """Whose glossaries and files the request asks for."""
        if self._access.ring is None:
            return EVERYBODY
        key = self._client.key
        return Owner(key.id, key.is_admin) if key else Owner()

    @property
    def quota(self) -> int:
        """The characters that the client's key may use a month; 0 is no limit."""
        key = self._client.key
        return key.options.characters_per_month if key else 0

    async def enter(
        self, scope: Scope, headers: HeaderValues, *, may_have_key_in_body: bool
    ) -> None:
        """Check the request before its body is read. Raises a ServiceError."""
        if self._is_identified:
            return
        written = key_of_head(scope, headers)
        if written is not None or not may_have_key_in_body:
            await self.identify(written)
            return
        limit = self._client.limits.requests_per_minute
        async with _refusing_slowly():
            self._take_place()
            await self._count_in_minute(TooManyRequests, "requests", limit, is_test=True)

    async def identify(self, written: str | None) -> None:
        """Count the request for its key, or without one for its address, unless that is done.

        Raises a ServiceError.
        """
        if self._is_identified:
            return
        self._is_identified = True
        error = self._find_client(written)
        async with _refusing_slowly():
            self._take_place()
            limit = self._client.limits.requests_per_minute
            await self._count_in_minute(TooManyRequests, "requests", limit)
            if error is not None:
                raise error

    async def charge(self, num_characters: int, num_weighted: float | None = None) -> None:
        """Count the characters of the request's texts, which its quota must have room for.

        `num_weighted`: the characters of a usual request that are as much work, which count for the
        minute; by default as many. Raises a ServiceError.
        """
        if self._access.is_open:
            return
        await self.identify(None)
        client = self._client
        amount = math.ceil(num_characters if num_weighted is None else num_weighted)
        limit = client.limits.characters_per_minute
        if 0 < limit < amount:
            raise TextTooLong(
                f"the request counts as {amount} characters, "
                f"at most {limit} per minute are allowed for this {client.kind}"
            )
        ring = self._access.ring
        async with _refusing_slowly():
            if amount:
                await self._count_in_minute(TooManyCharacters, "characters", limit, amount)
            if ring is not None and client.key is not None:
                ring.usage.reserve(client.key, num_characters)
                self._num_characters += num_characters

    async def leave(self, status: int | None, *, has_delivered: bool = False) -> None:
        """End the request; `status` None: the client left before its answer. Its characters count
        if it `has_delivered` a part of a translation, however it ended."""
        if self._access.is_open:
            return
        self._settle(is_used=has_delivered or outcome_of(status) in _USED)
        self._leave_place()
        if not self._is_identified:  # its body never came
            with contextlib.suppress(ServiceError):
                await self.identify(None)
            self._leave_place()

    async def _count_in_minute(
        self,
        error: type[LimitExceeded],
        what: str,
        limit: int,
        amount: int = 1,
        *,
        is_test: bool = False,
    ) -> None:
        """Count `amount` of the client's minute, or only test whether it has room. Raises `error`,
        with LibreTranslate's word first."""
        if not limit:
            return
        windows = self._access.windows
        assert windows is not None  # there are limits
        name, kind = f"{what}/{self._client.name}", self._client.kind
        if seconds := await windows.count(name, limit, amount, is_test=is_test):
            raise error(f"Slowdown: {limit} {what} per minute are allowed for this {kind}", seconds)

    def _settle(self, *, is_used: bool) -> None:
        ring, key = self._access.ring, self._client.key
        if ring is not None and key is not None and self._num_characters:
            ring.usage.settle(key, self._num_characters, is_used=is_used)
            self._num_characters = 0

    def _find_client(self, written: str | None) -> ServiceError | None:
        """Find the client of the key; return the error of a missing or wrong one."""
        if written is None:
            return KeyRequired(_NO_KEY) if self._access.is_key_required else None
        try:
            self._client = self._access.client_of_key(written) or self._client
        except InvalidKey as error:
            return error
        return None

    def _take_place(self) -> None:
        self._leave_place()
        self._access.take_place(self._client)
        self._placed = self._client

    def _leave_place(self) -> None:
        if self._placed is not None:
            self._access.leave_place(self._placed)
            self._placed = None


@contextlib.asynccontextmanager
async def _refusing_slowly() -> AsyncGenerator[None]:
    """Delay the error of a client that is over a limit or has a wrong key."""
    try:
        yield
    except (LimitExceeded, InvalidKey):
        await asyncio.sleep(_REFUSAL_SECONDS)
        raise
