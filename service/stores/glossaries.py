"""Stored glossaries, in SQLite. Every call may block: call it from a thread.

A glossary belongs to an API key, which alone may use, read and change it. One that was made without
keys, or by a command, belongs to nobody: all may use and read it. Admins may do all.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from service.errors import GlossaryExists, InvalidField, KeyRequired, UnknownGlossary, shown
from service.stores.api_key import Owner
from service.stores.database import WAIT_SECONDS, Database
from service.translation.glossary import Glossary, GlossaryEntry, check_entries

MAX_ENTRIES = 10_000
MAX_NAME_CHARACTERS = 100
_MAX_CACHED = 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE, -- with the id of its owner and a slash before it, if it has one
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    created TEXT NOT NULL,
    version TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS glossary_entries (
    glossary TEXT NOT NULL REFERENCES glossaries (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    case_sensitive INTEGER NOT NULL,
    PRIMARY KEY (glossary, number)
) WITHOUT ROWID;
"""
_COLUMNS = (
    "SELECT id, name, source, target, created, version, "
    "(SELECT count(*) FROM glossary_entries WHERE glossary = glossaries.id) FROM glossaries"
)
_OWN = "(:is_admin OR name LIKE :id || '/%')"
_READABLE = f"({_OWN} OR name NOT LIKE '%/%')"


@dataclass(frozen=True)
class StoredGlossary:
    """A stored glossary without its entries. `owner`: the id of a key, or "" for nobody; `created`:
    ISO 8601; `version` changes when the entries do."""

    id: str
    owner: str
    name: str
    source: str
    target: str
    created: str
    version: str
    num_entries: int


class GlossaryStore:
    """The glossaries of one database, for any thread. Every method may raise StorageFailed.

    It reads with one connection and writes with another, so that who reads waits for no writer. A
    name means the owner's own glossary, or else nobody's; an id means any that the owner may see.
    """

    def __init__(
        self,
        path: Path,
        wait_seconds: float = WAIT_SECONDS,
        *,
        max_glossaries: int = 0,
        max_terms: int = 0,
    ) -> None:
        """`max_glossaries` and `max_terms`: of one owner together; 0 is no limit. Raises
        DatabaseError."""
        self._reading = Database(path, _SCHEMA, wait_seconds)
        self._writing = Database(path, _SCHEMA, wait_seconds)
        self._max_glossaries, self._max_terms = max_glossaries, max_terms
        self._loaded: dict[str, tuple[str, Glossary]] = {}

    @property
    def is_lost(self) -> bool:
        """Whether the database's file was moved or replaced."""
        return self._reading.is_lost

    def close(self) -> None:
        self._reading.close()
        self._writing.close()

    def all(self, owner: Owner) -> list[StoredGlossary]:
        """All glossaries that the owner may read, by name."""
        query = f"{_COLUMNS} WHERE {_READABLE} ORDER BY name"
        with self._reading.use() as connection:
            return [_stored(row) for row in connection.execute(query, owner._asdict())]

    def get(self, name: str, owner: Owner) -> StoredGlossary:
        """The glossary of this name or id. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _get(connection, name, owner)

    def entries(self, name: str, owner: Owner) -> list[GlossaryEntry]:
        """Its entries in order. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _entries(connection, _get(connection, name, owner).id)

    def load(self, name: str, owner: Owner) -> Glossary:
        """The glossary for a request; those used last are kept. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            found = _get(connection, name, owner)
            version, loaded = self._loaded.pop(found.id, ("", None))
            if loaded is None or version != found.version:
                entries = _entries(connection, found.id)
                loaded = Glossary(entries, found.name, (found.source, found.target))
            self._loaded[found.id] = found.version, loaded
            if len(self._loaded) > _MAX_CACHED:
                del self._loaded[next(iter(self._loaded))]
            return loaded

    def add(
        self,
        name: str,
        source: str,
        target: str,
        entries: Sequence[GlossaryEntry],
        owner: Owner,
    ) -> StoredGlossary:
        """Store a new glossary. Raises InvalidField, GlossaryExists or KeyRequired."""
        _check(name, entries)
        if owner == Owner():
            raise KeyRequired("glossaries are stored for an API key, and the request has none")
        key, now = str(uuid.uuid4()), datetime.now(UTC).isoformat(timespec="microseconds")
        row = (key, owner.qualified(name), source, target, now, str(uuid.uuid4()))
        with self._writing.transaction() as connection:
            if connection.execute("SELECT 1 FROM glossaries WHERE name = ?", row[1:2]).fetchone():
                raise GlossaryExists(f"there is a glossary named {shown(name)}")
            connection.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?)", row)
            _write(connection, key, entries)
            num_glossaries, num_terms = _count(connection, owner.id)
            _require_room("glossaries", num_glossaries, self._max_glossaries)
            _require_room("terms in glossaries", num_terms, self._max_terms)
            return _get(connection, key, owner)

    def replace(
        self,
        name: str,
        source: str,
        target: str,
        entries: Sequence[GlossaryEntry],
        owner: Owner,
    ) -> tuple[StoredGlossary, bool]:
        """Store the glossary in place of the owner's of this name; also whether it is new. Raises
        InvalidField or KeyRequired."""
        try:
            found = self._own(name, owner)
        except UnknownGlossary:
            return self.add(name, source, target, entries, owner), True
        _check(found.name, entries)
        with self._writing.transaction() as connection:
            connection.execute(
                "UPDATE glossaries SET source = ?, target = ?, version = ? WHERE id = ?",
                (source, target, str(uuid.uuid4()), found.id),
            )
            connection.execute("DELETE FROM glossary_entries WHERE glossary = ?", (found.id,))
            _write(connection, found.id, entries)
            _, num_terms = _count(connection, found.owner)
            _require_room("terms in glossaries", num_terms, self._max_terms)
            return _get(connection, found.id, owner), False

    def remove(self, name: str, owner: Owner) -> None:
        """Remove the owner's glossary of this name. Raises UnknownGlossary."""
        found = self._own(name, owner)
        with self._writing.use() as connection:
            connection.execute("DELETE FROM glossaries WHERE id = ?", (found.id,))

    def _own(self, name: str, owner: Owner) -> StoredGlossary:
        """The glossary of this name or id, which the owner may change. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _get(connection, name, owner, _OWN)


def _get(
    connection: sqlite3.Connection, name: str, owner: Owner, allowed: str = _READABLE
) -> StoredGlossary:
    """Raises UnknownGlossary."""
    row = connection.execute(
        f"{_COLUMNS} WHERE {allowed} AND (id = :name OR name IN (:name, :own))"
        " ORDER BY id = :name DESC, name = :own DESC",
        {**owner._asdict(), "name": name, "own": owner.qualified(name)},
    ).fetchone()
    if row is None:
        suffix = " that you may change" if allowed is _OWN else ""
        raise UnknownGlossary(f"there is no glossary {shown(name)}{suffix}")
    return _stored(row)


def _stored(row: tuple[str, str, str, str, str, str, int]) -> StoredGlossary:
    key, qualified, *others = row
    owner, _, name = qualified.rpartition("/")
    return StoredGlossary(key, owner, name, *others)  # type: ignore[arg-type]


def _entries(connection: sqlite3.Connection, key: str) -> list[GlossaryEntry]:
    rows = connection.execute(
        "SELECT source, target, case_sensitive FROM glossary_entries WHERE glossary = ? "
        "ORDER BY number",
        (key,),
    )
    return [GlossaryEntry(source, target, bool(flag)) for source, target, flag in rows]


def _write(connection: sqlite3.Connection, key: str, entries: Sequence[GlossaryEntry]) -> None:
    connection.executemany(
        "INSERT INTO glossary_entries VALUES (?, ?, ?, ?, ?)",
        ((key, number, *entry) for number, entry in enumerate(entries)),
    )


def _count(connection: sqlite3.Connection, owner: str) -> tuple[int, int]:
    """The number of an owner's glossaries, or of nobody's, and of their terms together."""
    own, pattern = ("name LIKE ?", f"{owner}/%") if owner else ("name NOT LIKE ?", "%/%")
    found: tuple[int, int] = connection.execute(
        "SELECT count(DISTINCT id), count(number) FROM glossaries"
        f" LEFT JOIN glossary_entries ON glossary = id WHERE {own}",
        (pattern,),
    ).fetchone()
    return found


def _require_room(what: str, count: int, most: int) -> None:
    """Raises InvalidField."""
    if 0 < most < count:
        raise InvalidField(f"these would be {count} {what}, at most {most} may be stored")


def _check(name: str, entries: Sequence[GlossaryEntry]) -> None:
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable() or "/" in name:
        raise InvalidField(
            f"name must have 1 to {MAX_NAME_CHARACTERS} printable characters without a slash, "
            f"got {shown(name)}"
        )
    if not entries:
        raise InvalidField("entries must have at least one term")
    check_entries(entries, MAX_ENTRIES, "entries")
