"""Who sends a request, and how much of the server it may use: keys, addresses, limits, quotas."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import math
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import unquote_plus

from starlette.types import Scope

from service.commons.commons import Commons
from service.commons.usage import seconds_of_month_left
from service.errors import (
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    Overloaded,
    QuotaExceeded,
    ServiceError,
    TextTooLong,
    TooManyAtOnce,
    TooManyCharacters,
    TooManyRequests,
    outcome_label,
)
from service.http.access.key_ring import KeyRing
from service.http.error_answers import GOOGLE, OPUS_CAT, is_apertium
from service.http.head import HeaderValues
from service.http.request_fields import KEY_FIELDS
from service.stores.api_key import EVERYBODY, ApiKey, ClientLimits, Owner, read_key
from service.stores.keys import Used

GOOGLE_HEADER = "X-Goog-Api-Key"
_SHORT_FIELD, _OPUS_CAT_FIELD, TOKEN_FIELD = "key", "tokenCode", "token"
_TOKEN_PATHS = ("/translate", "/translate/batch", "/v1/translate", "/v2/translate")
"""Of DeepLX and MTranServer. pyvideotrans sends them `key`."""
_NO_TOKEN = (_OPUS_CAT_FIELD, "0")
"""What OPUS-CAT's plugins always send."""
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
    if read_key(scheme) is not None:  # Zotero's plugin names no scheme, or sends "None"
        return scheme
    return headers.get(_GOOGLE_NAME, b"").decode("latin-1") or _key_of_query(scope)


def _key_of_query(scope: Scope) -> str | None:
    query: bytes = scope["query_string"]
    if not query:
        return None
    names = (*KEY_FIELDS, *_fields_of_path(scope))
    for field in query.decode("latin-1").split("&"):
        name, _, value = field.partition("=")
        if name in names and value and (name, value) != _NO_TOKEN:
            return unquote_plus(value)
    return None


def _fields_of_path(scope: Scope) -> tuple[str, ...]:
    """More names of the key, of the request's API."""
    path = scope["path"]
    if path.startswith(OPUS_CAT):
        return (_OPUS_CAT_FIELD,)
    if path.startswith(GOOGLE) or is_apertium(path, scope.get("method", "")):
        return (_SHORT_FIELD,)
    return (TOKEN_FIELD, _SHORT_FIELD) if path in _TOKEN_PATHS else ()


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
    """Keys, limits and counters. `ring` is None if keys are off; `is_open`: anybody may do
    anything."""

    def __init__(
        self, ring: KeyRing | None, commons: Commons, limits: ClientLimits, *, is_key_required: bool
    ) -> None:
        self.ring, self.is_key_required = ring, is_key_required
        self.commons, self._limits = commons, limits
        self.is_open = ring is None and limits == ClientLimits()
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

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the keys current inside the block."""
        async with contextlib.AsyncExitStack() as stack:
            if self.ring is not None:
                await stack.enter_async_context(self.ring.kept_current())
            if self.commons.usage is not None:
                await stack.enter_async_context(self.commons.usage.kept_current())
            if self.commons.windows is not None:
                stack.push_async_callback(self.commons.windows.close)
            yield


class Caller:
    """Identifies a request's client by the key in its head, in its fields, or by its address.

    A request counts once, for the key if it has a valid one, else for the address. It holds one of
    the client's places until `leave`.
    """

    def __init__(self, access: Access, client: Client) -> None:
        """`client`: that of its address."""
        self._access, self.client = access, client
        self._is_identified = access.is_open
        self._num_characters = 0
        self._num_weighted = 0
        """What it counts as in the minute."""
        self._placed = ""
        """The client that has one place less."""

    async def used(self) -> Used:
        """The usage of the client's key this month."""
        usage, key = self._access.commons.usage, self.client.key
        return Used() if usage is None or key is None else await usage.used(key.id)

    @property
    def owner(self) -> Owner:
        """Whose glossaries and files the request asks for."""
        if self._access.ring is None:
            return EVERYBODY
        key = self.client.key
        return Owner(key.id, key.is_admin) if key else Owner()

    @property
    def quota(self) -> int:
        """The characters that the client's key may use a month; 0 is no limit."""
        key = self.client.key
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
        limit = self.client.limits.requests_per_minute
        async with _refusing_slowly():
            await self._take_place()
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
            await self._take_place()
            limit = self.client.limits.requests_per_minute
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
        client = self.client
        amount = math.ceil(num_characters if num_weighted is None else num_weighted)
        limit = client.limits.characters_per_minute
        if 0 < limit < amount:
            raise TextTooLong(
                f"the request counts as {amount} characters, "
                f"at most {limit} per minute are allowed for this {client.kind}"
            )
        async with _refusing_slowly():
            if amount:
                await self._count_in_minute(TooManyCharacters, "characters", limit, amount)
                self._num_weighted += amount
            await self._reserve(num_characters)

    def for_job(self) -> Caller:
        """The same client, for work that goes on after the request. It is charged, and left, on its
        own."""
        caller = Caller(self._access, self.client)
        caller._is_identified = True
        return caller

    async def leave(self, status: int | None, *, has_delivered: bool = False) -> None:
        """End the request; `status` None: the client left before its answer. Its characters count
        if it `has_delivered` a part of a translation, however it ended, and not for the minute if
        the server had no room for it."""
        if self._access.is_open:
            return
        self._settle(is_used=has_delivered or outcome_label(status) in _USED)
        self._leave_place()
        if status == Overloaded.status and not has_delivered:
            await self._uncount()
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
        windows = self._access.commons.windows
        assert windows is not None  # there are limits
        name, kind = f"{what}/{self.client.name}", self.client.kind
        if seconds := await windows.count(name, limit, amount, is_test=is_test):
            raise error(f"Slowdown: {limit} {what} per minute are allowed for this {kind}", seconds)

    async def _uncount(self) -> None:
        """Take the characters of the request out of the minute."""
        limit, amount = self.client.limits.characters_per_minute, -self._num_weighted
        if amount:
            self._num_weighted = 0
            with contextlib.suppress(ServiceError):  # without a hub nothing is counted
                await self._count_in_minute(TooManyCharacters, "characters", limit, amount)

    async def _reserve(self, num_characters: int) -> None:
        """Set characters of the key's quota aside until `_settle`. Raises QuotaExceeded."""
        usage, key, quota = self._access.commons.usage, self.client.key, self.quota
        if usage is None or key is None:
            return
        if not await usage.reserve(key.id, num_characters, quota):
            raise QuotaExceeded(
                f"Quota exceeded: {quota} characters a month are allowed for this key",
                seconds_of_month_left(time.time()),
            )
        self._num_characters += num_characters

    def _settle(self, *, is_used: bool) -> None:
        usage, key = self._access.commons.usage, self.client.key
        if usage is not None and key is not None and self._num_characters:
            usage.settle(key.id, self._num_characters, is_used=is_used)
            self._num_characters = 0

    def _find_client(self, written: str | None) -> ServiceError | None:
        """Find the client of the key; return the error of a missing or wrong one."""
        if written is None:
            return KeyRequired(_NO_KEY) if self._access.is_key_required else None
        try:
            self.client = self._access.client_of_key(written) or self.client
        except InvalidKey as error:
            return error
        return None

    async def _take_place(self) -> None:
        """Count the request as in progress until `_leave_place`. Raises TooManyAtOnce."""
        self._leave_place()
        client = self.client
        limit = client.limits.concurrent_requests
        if not limit:
            return
        if not await self._access.commons.places.take(client.name, limit):
            raise TooManyAtOnce(
                f"Slowdown: {limit} requests at the same time are allowed for this {client.kind}",
                _AT_ONCE_RETRY_SECONDS,
            )
        self._placed = client.name

    def _leave_place(self) -> None:
        if self._placed:
            self._access.commons.places.leave(self._placed)
            self._placed = ""


@contextlib.asynccontextmanager
async def _refusing_slowly() -> AsyncGenerator[None]:
    """Delay the error of a client that is over a limit or has a wrong key."""
    try:
        yield
    except (LimitExceeded, InvalidKey):
        await asyncio.sleep(_REFUSAL_SECONDS)
        raise
