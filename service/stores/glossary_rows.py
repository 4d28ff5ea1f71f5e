"""The rows of stored glossaries. Each function is one step of a transaction of its caller.

A glossary is a dictionary of one pair of languages, and may have further dictionaries of other
pairs. Each is a row of the same table, which counts as a glossary for the limits.
"""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from service.errors import GlossaryExists, InvalidField, UnknownGlossary, shown
from service.stores.api_key import Owner
from service.translation.glossary import GlossaryEntry

MAX_ENTRIES = 10_000
MAX_NAME_CHARACTERS = 1024
NO_DICTIONARY = "No dictionary found for language pair"
"""The message of DeepL's API, whose clients may look for it."""
SCHEMA = """
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
OWN = "(:is_admin OR name LIKE :id || '/%')"
_READABLE = f"({OWN} OR name NOT LIKE '%/%')"
_IS_GLOSSARY = "id NOT IN (SELECT id FROM glossary_dictionaries)"
_SLASH = "\x1f"
"""Replaces each slash of a glossary's name in the database, where a slash ends the owner."""


Pair = tuple[str, str]
Dictionary = tuple[Pair, Sequence[GlossaryEntry]]
"""A pair of languages, and its terms."""


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
    def pair(self) -> Pair:
        return self.source, self.target


def all_glossaries(connection: sqlite3.Connection, owner: Owner) -> list[StoredGlossary]:
    query = f"{_COLUMNS} WHERE {_READABLE} AND {_IS_GLOSSARY} ORDER BY name"
    return [_stored(row) for row in connection.execute(query, owner._asdict())]


def get_glossary(
    connection: sqlite3.Connection, name: str, owner: Owner, allowed: str = _READABLE
) -> StoredGlossary:
    """Raises UnknownGlossary."""
    plain, own = stored_name(name, Owner()), stored_name(name, owner)
    row = connection.execute(
        f"{_COLUMNS} WHERE {allowed} AND {_IS_GLOSSARY}"
        " AND (id = :name OR name IN (:name, :plain, :own))"
        " ORDER BY id = :name DESC, name = :own DESC",
        {**owner._asdict(), "name": name, "plain": plain, "own": own},
    ).fetchone()
    if row is None:
        suffix = " that you may change" if allowed is OWN else ""
        raise UnknownGlossary(f"there is no glossary {shown(name)}{suffix}")
    return _stored(row)


def _stored(row: tuple[str, str, str, str, str, str, int]) -> StoredGlossary:
    key, qualified, *others = row
    owner, _, name = qualified.rpartition("/")
    return StoredGlossary(key, owner, name.replace(_SLASH, "/"), *others)  # type: ignore[arg-type]


def entries_of(connection: sqlite3.Connection, key: str) -> list[GlossaryEntry]:
    rows = connection.execute(
        "SELECT source, target, case_sensitive FROM glossary_entries WHERE glossary = ? "
        "ORDER BY number",
        (key,),
    )
    return [GlossaryEntry(source, target, bool(flag)) for source, target, flag in rows]


def dictionaries_of(
    connection: sqlite3.Connection, glossary: StoredGlossary
) -> list[StoredGlossary]:
    """The glossary itself first."""
    rows = connection.execute(
        f"{_COLUMNS} WHERE id IN (SELECT id FROM glossary_dictionaries WHERE parent = ?)"
        " ORDER BY created, rowid",
        (glossary.id,),
    )
    return [glossary, *map(_stored, rows)]


def require_dictionary(dictionaries: Sequence[StoredGlossary], pair: Pair) -> StoredGlossary:
    """That of this pair. Raises UnknownGlossary."""
    if found := [one for one in dictionaries if one.pair == pair]:
        return found[0]
    raise UnknownGlossary(NO_DICTIONARY)


def insert_glossary(
    connection: sqlite3.Connection, name: str, source: str, target: str, key: str | None = None
) -> str:
    """Store a glossary without entries -> its id. Raises GlossaryExists."""
    _require_new(connection, name)
    key, now = key or str(uuid.uuid4()), datetime.now(UTC).isoformat(timespec="microseconds")
    row = (key, name, source, target, now, "")
    connection.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?)", row)
    return key


def insert_further(connection: sqlite3.Connection, glossary: StoredGlossary, pair: Pair) -> str:
    """Store a further dictionary without entries -> its id."""
    key = str(uuid.uuid4())
    insert_glossary(connection, Owner(glossary.owner).qualified(key), *pair, key)
    connection.execute("INSERT INTO glossary_dictionaries VALUES (?, ?)", (key, glossary.id))
    return key


def remove_further(connection: sqlite3.Connection, glossary: StoredGlossary) -> None:
    """Remove its dictionaries but for the first."""
    _, *further = dictionaries_of(connection, glossary)
    for one in further:
        connection.execute("DELETE FROM glossaries WHERE id = ?", (one.id,))


def set_pair(connection: sqlite3.Connection, key: str, pair: Pair) -> None:
    connection.execute("UPDATE glossaries SET source = ?, target = ? WHERE id = ?", (*pair, key))


def rename_glossary(
    connection: sqlite3.Connection, glossary: StoredGlossary, new_name: str
) -> None:
    """Raises InvalidField or GlossaryExists."""
    check_name(new_name)
    qualified = stored_name(new_name, Owner(glossary.owner))
    _require_new(connection, qualified)
    connection.execute("UPDATE glossaries SET name = ? WHERE id = ?", (qualified, glossary.id))


def replace_entries(
    connection: sqlite3.Connection, key: str, entries: Sequence[GlossaryEntry]
) -> None:
    """Replace the entries of a dictionary. Raises InvalidField."""
    connection.execute("DELETE FROM glossary_entries WHERE glossary = ?", (key,))
    merge_entries(connection, key, entries)


def merge_entries(
    connection: sqlite3.Connection, key: str, entries: Sequence[GlossaryEntry]
) -> None:
    """Put entries in the places of those with the same source, and new ones behind all. Raises
    InvalidField."""
    query = "SELECT source, number FROM glossary_entries WHERE glossary = ?"
    rows = connection.execute(query, (key,)).fetchall()
    places: dict[str, list[int]] = {entry.source: [] for entry in entries}
    for source, number in rows:
        if source in places:
            places[source].append(number)
    replaced = [(key, number) for numbers in places.values() for number in numbers]
    _check_count(len(rows) - len(replaced) + len(entries))
    ends = itertools.count(1 + max((number for _, number in rows), default=-1))
    numbered = [
        (key, numbers.pop(0) if (numbers := places[entry.source]) else next(ends), *entry)
        for entry in entries
    ]
    connection.executemany(
        "DELETE FROM glossary_entries WHERE glossary = ? AND number = ?", replaced
    )
    connection.executemany("INSERT INTO glossary_entries VALUES (?, ?, ?, ?, ?)", numbered)
    version = "UPDATE glossaries SET version = ? WHERE id = ?"
    connection.execute(version, (str(uuid.uuid4()), key))


def _require_new(connection: sqlite3.Connection, qualified: str) -> None:
    query = "SELECT 1 FROM glossaries WHERE name = ?"
    if connection.execute(query, (qualified,)).fetchone():
        name = qualified.rpartition("/")[2].replace(_SLASH, "/")
        raise GlossaryExists(f"there is a glossary named {shown(name)}")


def stored_name(name: str, owner: Owner) -> str:
    return owner.qualified(name.replace("/", _SLASH))


def count_owned(connection: sqlite3.Connection, owner: str) -> tuple[int, int]:
    """The number of an owner's glossaries, or of nobody's, and of their terms together."""
    own, pattern = ("name LIKE ?", f"{owner}/%") if owner else ("name NOT LIKE ?", "%/%")
    found: tuple[int, int] = connection.execute(
        "SELECT count(DISTINCT id), count(number) FROM glossaries"
        f" LEFT JOIN glossary_entries ON glossary = id WHERE {own}",
        (pattern,),
    ).fetchone()
    return found


def _check_count(num_entries: int) -> None:
    """Raises InvalidField."""
    if not num_entries:
        raise InvalidField("entries must have at least one term")
    if num_entries > MAX_ENTRIES:
        raise InvalidField(f"entries must have at most {MAX_ENTRIES} terms, got {num_entries}")


def check_name(name: str) -> None:
    """Raises InvalidField. Requests name glossaries in paths, where clients take dots away, and in
    fields that may hold a list as JSON."""
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InvalidField(
            f"name must have 1 to {MAX_NAME_CHARACTERS} printable characters, got {shown(name)}"
        )
    if name in (".", "..") or name.startswith(("[", "{")):
        raise InvalidField(
            f'name must not be "." or "..", nor begin with "[" or "{{", got {shown(name)}'
        )
