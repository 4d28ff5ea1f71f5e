"""API keys and their usage in SQLite."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service.stores.api_key import ApiKey, KeyOptions, make_key
from service.stores.database import WAIT_SECONDS, Database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS api_keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    created_seconds REAL NOT NULL,
    revoked_seconds REAL,
    name TEXT NOT NULL,
    requests_per_minute INTEGER,
    characters_per_minute INTEGER,
    concurrent_requests INTEGER,
    characters_per_month INTEGER NOT NULL,
    expires_seconds REAL
) STRICT;
CREATE TABLE IF NOT EXISTS api_key_usage (
    id TEXT NOT NULL REFERENCES api_keys (id),
    month TEXT NOT NULL,
    requests INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    PRIMARY KEY (id, month)
) STRICT;
CREATE TABLE IF NOT EXISTS api_key_admins (
    id TEXT PRIMARY KEY REFERENCES api_keys (id)
) STRICT;
"""
_OPTIONS = tuple(option.name for option in dataclasses.fields(KeyOptions))
_INSERT = (
    f"INSERT INTO api_keys (id, digest, created_seconds, {', '.join(_OPTIONS)})"
    f" VALUES (?, ?, ?, {', '.join('?' for _ in _OPTIONS)})"
)
_SELECT = (
    "SELECT id, digest, created_seconds, revoked_seconds, id IN (SELECT id FROM api_key_admins),"
    f" {', '.join(_OPTIONS)} FROM api_keys ORDER BY created_seconds, id"
)
_ADD = """
INSERT INTO api_key_usage (id, month, requests, characters)
SELECT id, ?, ?, ? FROM api_keys WHERE id = ?
ON CONFLICT (id, month) DO UPDATE SET
    requests = requests + excluded.requests, characters = characters + excluded.characters
"""
"""Changes nothing if the key is not in the database."""
UsageKey = tuple[str, str]
"""A key's id, and a month such as 2026-11."""


@dataclass(frozen=True)
class Used:
    """The usage of a key: answered requests, and the characters of their texts."""

    requests: int = 0
    characters: int = 0

    def __add__(self, other: Used) -> Used:
        return Used(self.requests + other.requests, self.characters + other.characters)


class KeyStore(Database):
    """The keys in a database. Every method may raise StorageFailed."""

    def __init__(self, path: Path, wait_seconds: float = WAIT_SECONDS) -> None:
        """Raises DatabaseError."""
        super().__init__(path, _SCHEMA, wait_seconds)

    def create(self, options: KeyOptions, *, is_admin: bool = False) -> tuple[str, ApiKey]:
        """Store a new key -> the key as it is written, which is nowhere kept, and its record."""
        written, made = make_key()
        key = ApiKey(made.id, made.digest, time.time(), options, is_admin=is_admin)
        values = dataclasses.astuple(options)
        with self.transaction() as connection:
            connection.execute(_INSERT, (key.id, key.digest, key.created_seconds, *values))
            if is_admin:
                connection.execute("INSERT INTO api_key_admins VALUES (?)", (key.id,))
        return written, key

    def change(self, key_id: str, options: KeyOptions) -> None:
        """Replace the options of a key."""
        assigned = ", ".join(f"{name} = ?" for name in _OPTIONS)
        values = (*dataclasses.astuple(options), key_id)
        with self.use() as connection:
            connection.execute(f"UPDATE api_keys SET {assigned} WHERE id = ?", values)

    def revoke(self, key_id: str) -> None:
        """End a key for good; it stays in the list with its usage."""
        with self.use() as connection:
            connection.execute(
                "UPDATE api_keys SET revoked_seconds = ? WHERE id = ? AND revoked_seconds IS NULL",
                (time.time(), key_id),
            )

    def read_keys(self) -> dict[str, ApiKey]:
        """All keys by id, the oldest first."""
        with self.use() as connection:
            return {row[0]: _key(row) for row in connection.execute(_SELECT)}

    def add_usage(self, usage: Mapping[UsageKey, Used]) -> None:
        """Add to what the keys have used, all of it or nothing."""
        rows = [
            (month, used.requests, used.characters, id_) for (id_, month), used in usage.items()
        ]
        with self.transaction() as connection:
            connection.executemany(_ADD, rows)

    def read_usage(self, month: str) -> dict[UsageKey, Used]:
        """The usage of the keys in a month."""
        with self.use() as connection:
            rows = connection.execute(
                "SELECT id, month, requests, characters FROM api_key_usage WHERE month = ?",
                (month,),
            )
            return {(row[0], row[1]): Used(row[2], row[3]) for row in rows}


def month_of(seconds: float) -> str:
    """The month of a time since the epoch in UTC, such as 2026-11."""
    return time.strftime("%Y-%m", time.gmtime(seconds))


def _key(row: tuple[str, bytes, float, float | None, int, *tuple[object, ...]]) -> ApiKey:
    key_id, digest, created_seconds, revoked_seconds, is_admin, *values = row
    options = KeyOptions(**dict(zip(_OPTIONS, values, strict=True)))  # type: ignore[arg-type]
    return ApiKey(key_id, digest, created_seconds, options, revoked_seconds, bool(is_admin))
