"""One request's client: identified, limited and counted once."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator

from service.errors import (
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    ServiceError,
    TextTooLong,
    TooManyCharacters,
    TooManyRequests,
    outcome_of,
)
from service.http.access.access import Access, Client
from service.stores.api_key import EVERYBODY, Owner
from service.stores.keys import Used

_NO_KEY = "Please contact the server operator to get an API key"
"""LibreTranslate's words."""
_REFUSAL_SECONDS = 0.1
"""A client that asks again at once is slowed down to ten refusals a second for each connection."""
_USED = ("ok", "cancelled")
"""Outcomes of requests whose characters count: answered ones, and those that the client gave up."""


class Caller:
    """Identifies a request's client by the key in its head, in its fields, or by its address.

    A request counts once, for the key if it has a valid one, else for the address. It holds one of
    the client's places until `leave`.
    """

    def __init__(self, access: Access, address: str) -> None:
        """`address`: see `client_address`."""
        self._access = access
        self._client = access.client_of_address(address)
        self._is_identified = access.is_open
        self._num_characters = 0
        self._place = contextlib.ExitStack()

    @property
    def name(self) -> str:
        """The client's, a key's or an address's."""
        return self._client.name

    @property
    def used(self) -> Used:
        """What the client's key has used this month."""
        return self._access.used(self._client)

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

    async def enter(self, written: str | None, *, may_have_key_in_body: bool) -> None:
        """Check the request before its body is read. `written`: the key in its head.

        Raises a ServiceError.
        """
        if self._is_identified:
            return
        if written is not None or not may_have_key_in_body:
            await self.identify(written)
            return
        limit = self._client.limits.requests_per_minute
        async with _refusing_slowly():
            self._take_place(self._client)
            await self._access.test(self._client, TooManyRequests, "requests", limit)

    async def identify(self, written: str | None) -> None:
        """Count the request for its key, or without one for its address, unless that is done.

        Raises a ServiceError.
        """
        if self._is_identified:
            return
        self._is_identified = True
        error = self._find_client(written)
        async with _refusing_slowly():
            self._take_place(self._client)
            limit = self._client.limits.requests_per_minute
            await self._access.take(self._client, TooManyRequests, "requests", limit)
            if error is not None:
                raise error

    async def charge(self, num_characters: int, weight: float = 1.0) -> None:
        """Count the characters of the request's texts, which its quota must have room for.

        `weight`: how much more work than usual the request asks for. Raises a ServiceError.
        """
        await self.identify(None)
        client, num_weighted = self._client, math.ceil(num_characters * weight)
        limit = client.limits.characters_per_minute
        if 0 < limit < num_weighted:
            raise TextTooLong(
                f"the request counts as {num_weighted} characters, "
                f"at most {limit} per minute are allowed for this {client.kind}"
            )
        access = self._access
        async with _refusing_slowly():
            if num_weighted:
                await access.take(client, TooManyCharacters, "characters", limit, num_weighted)
            if access.ring is not None and client.key is not None:
                access.ring.usage.reserve(client.key, num_characters)
                self._num_characters += num_characters

    async def leave(self, status: int | None, *, has_delivered: bool = False) -> None:
        """End the request; `status` None: the client left before its answer. Its characters count
        if it `has_delivered` a part of a translation, however it ended."""
        self._settle(is_used=has_delivered or outcome_of(status) in _USED)
        self._place.close()
        if not self._is_identified:  # its body never came
            with contextlib.suppress(ServiceError):
                await self.identify(None)
            self._place.close()

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

    def _take_place(self, client: Client) -> None:
        self._place.close()
        self._place.enter_context(self._access.at_once(client))


@contextlib.asynccontextmanager
async def _refusing_slowly() -> AsyncGenerator[None]:
    """Delay the error of a client that is over a limit or has a wrong key."""
    try:
        yield
    except (LimitExceeded, InvalidKey):
        await asyncio.sleep(_REFUSAL_SECONDS)
        raise
