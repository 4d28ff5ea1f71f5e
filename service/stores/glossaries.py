"""Stored glossaries, in SQLite. Every call may block: call it from a thread.

A glossary belongs to an API key, which alone may use, read and change it. One that was made without
keys, or by a command, belongs to nobody: all may use and read it. Admins may do all.

A glossary is a dictionary of one pair of languages, and may have further dictionaries of other
pairs. Each is a row of the same table, which counts as a glossary for the limits.
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
MAX_NAME_CHARACTERS = 1024
NO_DICTIONARY = "No dictionary found for language pair"
"""DeepL's words."""
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
CREATE TABLE IF NOT EXISTS glossary_dictionaries ( -- the further ones; their names are their ids
    id TEXT PRIMARY KEY REFERENCES glossaries (id) ON DELETE CASCADE,
    parent TEXT NOT NULL REFERENCES glossaries (id)
) WITHOUT ROWID;
"""
_COLUMNS = (
    "SELECT id, name, source, target, created, version, "
    "(SELECT count(*) FROM glossary_entries WHERE glossary = glossaries.id) FROM glossaries"
)
_OWN = "(:is_admin OR name LIKE :id || '/%')"
_READABLE = f"({_OWN} OR name NOT LIKE '%/%')"
_IS_GLOSSARY = "id NOT IN (SELECT id FROM glossary_dictionaries)"
_SLASH = "\x1f"
"""Stands for a slash in a stored name, where one parts the owner from the name."""


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

    @property
    def pair(self) -> tuple[str, str]:
        return self.source, self.target


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
        query = f"{_COLUMNS} WHERE {_READABLE} AND {_IS_GLOSSARY} ORDER BY name"
        with self._reading.use() as connection:
            return [_stored(row) for row in connection.execute(query, owner._asdict())]

    def get(self, name: str, owner: Owner) -> StoredGlossary:
        """The glossary of this name or id. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _get(connection, name, owner)

    def dictionaries(self, name: str, owner: Owner) -> list[StoredGlossary]:
        """The glossary, and its further dictionaries as glossaries. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _dictionaries(connection, _get(connection, name, owner))

    def entries(self, name: str, owner: Owner) -> list[GlossaryEntry]:
        """Its entries in order. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _entries(connection, _get(connection, name, owner).id)

    def load(self, name: str, owner: Owner, pair: tuple[str, str] | None = None) -> Glossary:
        """The glossary as a request uses it: its dictionary of this pair, if it has one, else the
        first. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            glossary = found = _get(connection, name, owner)
            if pair not in (None, found.pair):
                others = _dictionaries(connection, glossary)
                found = next((one for one in others if one.pair == pair), glossary)
            version, loaded = self._loaded.pop(found.id, ("", None))
            if loaded is None or version != found.version:
                loaded = Glossary(_entries(connection, found.id), glossary.name, found.pair)
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
        with self._writing.transaction() as connection:
            key = _insert(connection, _stored_name(name, owner), source, target)
            self._write(connection, key, entries, owner.id)
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
                "UPDATE glossaries SET source = ?, target = ? WHERE id = ?",
                (source, target, found.id),
            )
            self._write(connection, found.id, entries, found.owner)
            return _get(connection, found.id, owner), False

    def put_dictionary(
        self,
        name: str,
        pair: tuple[str, str],
        entries: Sequence[GlossaryEntry],
        owner: Owner,
        *,
        is_merged: bool,
    ) -> StoredGlossary:
        """Store a dictionary of the owner's glossary in place of its dictionary of this pair, or
        merged with that. Raises InvalidField or UnknownGlossary."""
        glossary = self._own(name, owner)
        with self._writing.transaction() as connection:
            found = _of_pair(connection, glossary, pair)
            if found is not None and is_merged:
                own = {entry.source: entry for entry in _entries(connection, found.id)}
                entries = [*(own | {entry.source: entry for entry in entries}).values()]
            _check(glossary.name, entries)
            key = found.id if found else str(uuid.uuid4())
            if found is None:
                _insert(connection, Owner(glossary.owner).qualified(key), *pair, key)
                link = (key, glossary.id)
                connection.execute("INSERT INTO glossary_dictionaries VALUES (?, ?)", link)
            self._write(connection, key, entries, glossary.owner)
            written = _of_pair(connection, glossary, pair)
            assert written is not None
            return written

    def remove_dictionary(self, name: str, pair: tuple[str, str], owner: Owner) -> None:
        """Remove the dictionary of this pair. Raises UnknownGlossary, and InvalidField for the only
        one."""
        glossary = self._own(name, owner)
        with self._writing.transaction() as connection:
            found = _of_pair(connection, glossary, pair)
            if found is None:
                raise UnknownGlossary(NO_DICTIONARY)
            others = [one for one in _dictionaries(connection, glossary) if one.id != found.id]
            if not others:
                raise InvalidField("a glossary must keep a dictionary; remove the glossary instead")
            is_first = found.id == glossary.id
            removed = others[0] if is_first else found
            entries = _entries(connection, removed.id)
            connection.execute("DELETE FROM glossaries WHERE id = ?", (removed.id,))
            if is_first:  # the next one takes its row
                connection.execute(
                    "UPDATE glossaries SET source = ?, target = ? WHERE id = ?",
                    (*removed.pair, glossary.id),
                )
                self._write(connection, glossary.id, entries, glossary.owner)

    def rename(self, name: str, new_name: str, owner: Owner) -> StoredGlossary:
        """Raises InvalidField, GlossaryExists or UnknownGlossary."""
        found = self._own(name, owner)
        _check_name(new_name)
        stored_name = _stored_name(new_name, Owner(found.owner))
        with self._writing.transaction() as connection:
            if new_name != found.name:
                _require_new(connection, stored_name)
            statement = "UPDATE glossaries SET name = ? WHERE id = ?"
            connection.execute(statement, (stored_name, found.id))
            return _get(connection, found.id, owner)

    def remove(self, name: str, owner: Owner) -> None:
        """Remove the owner's glossary of this name. Raises UnknownGlossary."""
        found = self._own(name, owner)
        with self._writing.transaction() as connection:
            for one in reversed(_dictionaries(connection, found)):
                connection.execute("DELETE FROM glossaries WHERE id = ?", (one.id,))

    def _own(self, name: str, owner: Owner) -> StoredGlossary:
        """The glossary of this name or id, which the owner may change. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return _get(connection, name, owner, _OWN)

    def _write(
        self, connection: sqlite3.Connection, key: str, entries: Sequence[GlossaryEntry], owner: str
    ) -> None:
        """Replace the entries of a dictionary. Raises InvalidField if its owner has too much."""
        version = "UPDATE glossaries SET version = ? WHERE id = ?"
        connection.execute(version, (str(uuid.uuid4()), key))
        connection.execute("DELETE FROM glossary_entries WHERE glossary = ?", (key,))
        connection.executemany(
            "INSERT INTO glossary_entries VALUES (?, ?, ?, ?, ?)",
            ((key, number, *entry) for number, entry in enumerate(entries)),
        )
        num_glossaries, num_terms = _count(connection, owner)
        _require_room("glossaries", num_glossaries, self._max_glossaries)
        _require_room("terms in glossaries", num_terms, self._max_terms)


def _get(
    connection: sqlite3.Connection, name: str, owner: Owner, allowed: str = _READABLE
) -> StoredGlossary:
    """Raises UnknownGlossary."""
    plain, own = _stored_name(name, Owner()), _stored_name(name, owner)
    row = connection.execute(
        f"{_COLUMNS} WHERE {allowed} AND {_IS_GLOSSARY}"
        " AND (id = :name OR name IN (:name, :plain, :own))"
        " ORDER BY id = :name DESC, name = :own DESC",
        {**owner._asdict(), "name": name, "plain": plain, "own": own},
    ).fetchone()
    if row is None:
        suffix = " that you may change" if allowed is _OWN else ""
        raise UnknownGlossary(f"there is no glossary {shown(name)}{suffix}")
    return _stored(row)


def _stored(row: tuple[str, str, str, str, str, str, int]) -> StoredGlossary:
    key, qualified, *others = row
    owner, _, name = qualified.rpartition("/")
    return StoredGlossary(key, owner, name.replace(_SLASH, "/"), *others)  # type: ignore[arg-type]


def _entries(connection: sqlite3.Connection, key: str) -> list[GlossaryEntry]:
    rows = connection.execute(
        "SELECT source, target, case_sensitive FROM glossary_entries WHERE glossary = ? "
        "ORDER BY number",
        (key,),
    )
    return [GlossaryEntry(source, target, bool(flag)) for source, target, flag in rows]


def _dictionaries(connection: sqlite3.Connection, glossary: StoredGlossary) -> list[StoredGlossary]:
    """The glossary itself first."""
    rows = connection.execute(
        f"{_COLUMNS} WHERE id IN (SELECT id FROM glossary_dictionaries WHERE parent = ?)"
        " ORDER BY created",
        (glossary.id,),
    )
    return [glossary, *map(_stored, rows)]


def _of_pair(
    connection: sqlite3.Connection, glossary: StoredGlossary, pair: tuple[str, str]
) -> StoredGlossary | None:
    current = _stored(connection.execute(f"{_COLUMNS} WHERE id = ?", (glossary.id,)).fetchone())
    found = _dictionaries(connection, current)
    return next((one for one in found if one.pair == pair), None)


def _insert(
    connection: sqlite3.Connection, name: str, source: str, target: str, key: str | None = None
) -> str:
    """Store a glossary without entries -> its id. Raises GlossaryExists."""
    _require_new(connection, name)
    key, now = key or str(uuid.uuid4()), datetime.now(UTC).isoformat(timespec="microseconds")
    row = (key, name, source, target, now, "")
    connection.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?)", row)
    return key


def _require_new(connection: sqlite3.Connection, stored_name: str) -> None:
    query = "SELECT 1 FROM glossaries WHERE name = ?"
    if connection.execute(query, (stored_name,)).fetchone():
        name = stored_name.rpartition("/")[2].replace(_SLASH, "/")
        raise GlossaryExists(f"there is a glossary named {shown(name)}")


def _stored_name(name: str, owner: Owner) -> str:
    return owner.qualified(name.replace("/", _SLASH))


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
    _check_name(name)
    if not entries:
        raise InvalidField("entries must have at least one term")
    check_entries(entries, MAX_ENTRIES, "entries")


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InvalidField(
            f"name must have 1 to {MAX_NAME_CHARACTERS} printable characters, got {shown(name)}"
        )
