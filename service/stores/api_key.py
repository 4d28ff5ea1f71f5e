"""API keys: how they are made, written and compared.

A key is "drg_", a public id and a random secret. Only the SHA-256 digest of the secret is stored. A
slow hash protects passwords, which people choose; a secret of 192 random bits cannot be guessed
from its digest, and a fast hash keeps refusals cheap.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

_ID_BYTES, _SECRET_BYTES = 6, 24
_WRITTEN = re.compile(rf"drg_([0-9a-f]{{{2 * _ID_BYTES}}})_([0-9a-f]{{{2 * _SECRET_BYTES}}})")


@dataclass(frozen=True)
class ClientLimits:
    """What one client may do: requests and characters a minute, requests at the same time.

    0 is no limit.
    """

    requests_per_minute: int = 0
    characters_per_minute: int = 0
    concurrent_requests: int = 0


@dataclass(frozen=True)
class KeyOptions:
    """The options of a key, chosen by an operator.

    None leaves a limit to the server's settings, 0 is no limit. `characters_per_month` 0 is no
    quota; `expires_seconds` is a time since the epoch, None is never.
    """

    name: str = ""
    requests_per_minute: int | None = None
    characters_per_minute: int | None = None
    concurrent_requests: int | None = None
    characters_per_month: int = 0
    expires_seconds: float | None = None


@dataclass(frozen=True)
class ApiKey:
    """A stored key, without its secret. Times are seconds since the epoch. An admin's key
    sees and changes the glossaries of all keys."""

    id: str
    digest: bytes = field(repr=False)
    created_seconds: float
    options: KeyOptions
    revoked_seconds: float | None = None
    is_admin: bool = False

    def is_valid(self, now_seconds: float) -> bool:
        """Whether it is neither revoked nor expired."""
        expires = self.options.expires_seconds
        return self.revoked_seconds is None and (expires is None or now_seconds < expires)

    def limits(self, defaults: ClientLimits) -> ClientLimits:
        """The key's own limits, and the defaults for those that it leaves open."""
        own = self.options
        return ClientLimits(
            _first(own.requests_per_minute, defaults.requests_per_minute),
            _first(own.characters_per_minute, defaults.characters_per_minute),
            _first(own.concurrent_requests, defaults.concurrent_requests),
        )


class Owner(NamedTuple):
    """Who asks for what is stored: the id of its API key, or "" without one; an admin may read and
    change what others own."""

    id: str = ""
    is_admin: bool = False

    def qualified(self, name: str) -> str:
        """The name of something that it owns, unique among all owners."""
        return f"{self.id}/{name}" if self.id else name


EVERYBODY = Owner(is_admin=True)
"""Every client of a server without keys, and every command."""


@dataclass(frozen=True)
class PresentedKey:
    """A key as a client sent it: its id, and the digest of its secret."""

    id: str
    digest: bytes = field(repr=False)

    def matches(self, key: ApiKey) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(self.digest, key.digest)


def make_key() -> tuple[str, PresentedKey]:
    """A new random key: as its owner writes it, and the part that is stored."""
    written = f"drg_{secrets.token_hex(_ID_BYTES)}_{secrets.token_hex(_SECRET_BYTES)}"
    presented = read_key(written)
    assert presented is not None
    return written, presented


def read_key(written: str) -> PresentedKey | None:
    """None for what is not written like a key."""
    found = _WRITTEN.fullmatch(written)
    return PresentedKey(found[1], hashlib.sha256(found[2].encode()).digest()) if found else None


def _first(own: int | None, default: int) -> int:
    return default if own is None else own
