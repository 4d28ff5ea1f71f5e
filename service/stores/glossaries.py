"""Stored glossaries, in SQLite. Every call may block: call it from a thread."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from service.errors import GlossaryExists, InvalidField, UnknownGlossary, shown
from service.stores.database import open_database
from service.translation.glossary import Glossary, GlossaryEntry, check_entries

MAX_GLOSSARIES, MAX_ENTRIES = 1000, 10_000
MAX_NAME_CHARACTERS = 100
_MAX_CACHED = 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
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


@dataclass(frozen=True)
class StoredGlossary:
    """A stored glossary without its entries. `created`: ISO 8601; `version` changes when the
    entries do."""

    id: str
    name: str
    source: str
    target: str
    created: str
    version: str
    num_entries: int


class GlossaryStore:
    """The glossaries of one database. Any thread may call it; calls wait for each other."""

    def __init__(self, path: Path) -> None:
        """Raises DatabaseError."""
        self._connection = open_database(path, _SCHEMA)
        self._lock = threading.Lock()
        self._loaded: dict[str, tuple[str, Glossary]] = {}

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def all(self) -> list[StoredGlossary]:
        """All glossaries, by name."""
        with self._lock:
            rows = self._connection.execute(f"{_COLUMNS} ORDER BY name").fetchall()
        return [StoredGlossary(*row) for row in rows]

    def get(self, name: str) -> StoredGlossary:
        """The glossary of this name or id. Raises UnknownGlossary."""
        with self._lock:
            return self._get(name)

    def entries(self, name: str) -> list[GlossaryEntry]:
        """Its entries in order. Raises UnknownGlossary."""
        with self._lock:
            return self._entries(self._get(name).id)

    def load(self, name: str) -> Glossary:
        """The glossary for a request; those used last are kept. Raises UnknownGlossary."""
        with self._lock:
            found = self._get(name)
            version, loaded = self._loaded.pop(found.id, ("", None))
            if loaded is None or version != found.version:
                entries = self._entries(found.id)
                loaded = Glossary(entries, found.name, (found.source, found.target))
            self._loaded[found.id] = found.version, loaded
            if len(self._loaded) > _MAX_CACHED:
                del self._loaded[next(iter(self._loaded))]
            return loaded

    def add(
        self, name: str, source: str, target: str, entries: Sequence[GlossaryEntry]
    ) -> StoredGlossary:
        """Store a new glossary. Raises InvalidField or GlossaryExists."""
        _check(name, entries)
        with self._lock, self._transaction():
            (count,) = self._connection.execute("SELECT count(*) FROM glossaries").fetchone()
            if count >= MAX_GLOSSARIES:
                raise InvalidField(f"there are {count} glossaries, at most {MAX_GLOSSARIES} fit")
            if self._find(name):
                raise GlossaryExists(f"there is a glossary named {shown(name)}")
            key, now = str(uuid.uuid4()), datetime.now(UTC).isoformat(timespec="microseconds")
            self._connection.execute(
                "INSERT INTO glossaries VALUES (?, ?, ?, ?, ?, ?)",
                (key, name, source, target, now, str(uuid.uuid4())),
            )
            self._write(key, entries)
            return self._get(key)

    def replace(
        self, name: str, source: str, target: str, entries: Sequence[GlossaryEntry]
    ) -> tuple[StoredGlossary, bool]:
        """Store the glossary in place of the one of this name; also whether it is new. Raises
        InvalidField."""
        try:
            found = self.get(name)
        except UnknownGlossary:
            return self.add(name, source, target, entries), True
        _check(found.name, entries)
        with self._lock, self._transaction():
            self._connection.execute(
                "UPDATE glossaries SET source = ?, target = ?, version = ? WHERE id = ?",
                (source, target, str(uuid.uuid4()), found.id),
            )
            self._connection.execute("DELETE FROM glossary_entries WHERE glossary = ?", (found.id,))
            self._write(found.id, entries)
            return self._get(found.id), False

    def remove(self, name: str) -> None:
        """Raises UnknownGlossary."""
        with self._lock:
            found = self._get(name)
            self._connection.execute("DELETE FROM glossaries WHERE id = ?", (found.id,))
            self._loaded.pop(found.id, None)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _find(self, name: str) -> tuple[str, ...] | None:
        """The row of this id, or else of this name."""
        row: tuple[str, ...] | None = self._connection.execute(
            f"{_COLUMNS} WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC", (name,)
        ).fetchone()
        return row

    def _get(self, name: str) -> StoredGlossary:
        row = self._find(name)
        if row is None:
            raise UnknownGlossary(f"there is no glossary {shown(name)}")
        return StoredGlossary(*row)  # type: ignore[arg-type]

    def _entries(self, key: str) -> list[GlossaryEntry]:
        rows = self._connection.execute(
            "SELECT source, target, case_sensitive FROM glossary_entries WHERE glossary = ? "
            "ORDER BY number",
            (key,),
        )
        return [GlossaryEntry(source, target, bool(flag)) for source, target, flag in rows]

    def _write(self, key: str, entries: Sequence[GlossaryEntry]) -> None:
        self._connection.executemany(
            "INSERT INTO glossary_entries VALUES (?, ?, ?, ?, ?)",
            ((key, number, *entry) for number, entry in enumerate(entries)),
        )


class GlossaryFinder:
    """Finds stored glossaries from the event loop, without blocking it."""

    def __init__(self, store: GlossaryStore) -> None:
        self._store = store

    async def find(self, name: str) -> Glossary:
        """Raises UnknownGlossary."""
        return await asyncio.to_thread(self._store.load, name)


def _check(name: str, entries: Sequence[GlossaryEntry]) -> None:
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable() or "/" in name:
        raise InvalidField(
            f"name must have 1 to {MAX_NAME_CHARACTERS} printable characters without a slash, "
            f"got {shown(name)}"
        )
    if not entries:
        raise InvalidField("entries must have at least one term")
    check_entries(entries, MAX_ENTRIES, "entries")
