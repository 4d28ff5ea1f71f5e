"""Stored glossaries, in SQLite. Every call may block: call it from a thread.

A glossary belongs to an API key, which alone may use, read and change it. One that was made without
keys, or by a command, belongs to nobody: all may use and read it. Admins may do all.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.errors import InvalidField, KeyRequired, UnknownGlossary
from service.stores.api_key import Owner
from service.stores.database import WAIT_SECONDS, Database
from service.stores.glossary_rows import (
    MAX_ENTRIES,
    OWN,
    SCHEMA,
    Dictionary,
    Pair,
    StoredGlossary,
    all_glossaries,
    check_name,
    count_owned,
    dictionaries_of,
    entries_of,
    get_glossary,
    insert_further,
    insert_glossary,
    merge_entries,
    remove_further,
    rename_glossary,
    replace_entries,
    require_dictionary,
    set_pair,
    stored_name,
)
from service.translation.glossary import Glossary, GlossaryEntry, check_entries

_MAX_CACHED = 16


class GlossaryStore:
    """The glossaries of one database, for any thread. Every method may raise StorageFailed.

    It reads with one connection and writes with another, so reads never wait for writes. A
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
        self._reading = Database(path, SCHEMA, wait_seconds)
        self._writing = Database(path, SCHEMA, wait_seconds)
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
        with self._reading.use() as connection:
            return all_glossaries(connection, owner)

    def all_dictionaries(self, owner: Owner) -> list[list[StoredGlossary]]:
        """The dictionaries of each of these glossaries."""
        with self._reading.snapshot() as connection:
            return [dictionaries_of(connection, one) for one in all_glossaries(connection, owner)]

    def get(self, name: str, owner: Owner) -> StoredGlossary:
        """The glossary of this name or id. Raises UnknownGlossary."""
        with self._reading.use() as connection:
            return get_glossary(connection, name, owner)

    def dictionaries(self, name: str, owner: Owner) -> list[StoredGlossary]:
        """The glossary, and its further dictionaries as glossaries. Raises UnknownGlossary."""
        with self._reading.snapshot() as connection:
            return dictionaries_of(connection, get_glossary(connection, name, owner))

    def read(
        self, name: str, owner: Owner, pair: Pair | None = None
    ) -> tuple[StoredGlossary, list[GlossaryEntry]]:
        """The glossary, or its dictionary of this pair, with its entries in order. Raises
        UnknownGlossary."""
        with self._reading.snapshot() as connection:
            found = get_glossary(connection, name, owner)
            if pair is not None:
                found = require_dictionary(dictionaries_of(connection, found), pair)
            return found, entries_of(connection, found.id)

    def entries(self, name: str, owner: Owner, pair: Pair | None = None) -> list[GlossaryEntry]:
        """Its entries in order, or those of its dictionary of this pair. Raises
        UnknownGlossary."""
        return self.read(name, owner, pair)[1]

    def load(self, name: str, owner: Owner, pair: Pair | None = None) -> Glossary:
        """The glossary as a request uses it: its dictionary of this pair, if it has one, else the
        first. Raises UnknownGlossary."""
        with self._reading.snapshot() as connection:
            glossary = found = get_glossary(connection, name, owner)
            if pair not in (None, found.pair):
                others = dictionaries_of(connection, glossary)
                found = next((one for one in others if one.pair == pair), glossary)
            version, loaded = self._loaded.pop(found.id, ("", None))
            if loaded is None or version != found.version:
                loaded = Glossary(entries_of(connection, found.id), glossary.name, found.pair)
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
        return self.add_dictionaries(name, [((source, target), entries)], owner)[0]

    def add_dictionaries(
        self, name: str, dictionaries: Sequence[Dictionary], owner: Owner
    ) -> list[StoredGlossary]:
        """Store a new glossary with one dictionary or more -> its dictionaries. Raises as `add`."""
        _check_all(dictionaries)
        with self._writing.transaction() as connection:
            return self._add(connection, name, dictionaries, owner)

    def replace(
        self,
        name: str,
        source: str,
        target: str,
        entries: Sequence[GlossaryEntry],
        owner: Owner,
    ) -> tuple[StoredGlossary, bool]:
        """Store the glossary in place of the owner's of this name and all its dictionaries; also
        whether it is new. Raises InvalidField or KeyRequired."""
        dictionary = (source, target), entries
        _check_all([dictionary])
        with self._writing.transaction() as connection:
            try:
                found = get_glossary(connection, name, owner, OWN)
            except UnknownGlossary:
                return self._add(connection, name, [dictionary], owner)[0], True
            with self._bounded(connection, found.owner):
                remove_further(connection, found)
                set_pair(connection, found.id, (source, target))
                replace_entries(connection, found.id, entries)
            return get_glossary(connection, found.id, owner), False

    def change(
        self,
        name: str,
        owner: Owner,
        new_name: str | None = None,
        dictionaries: Sequence[Dictionary] = (),
    ) -> list[StoredGlossary]:
        """Rename the owner's glossary, and merge entries into its dictionaries -> these. Only the
        given terms are written. Raises InvalidField, GlossaryExists or UnknownGlossary."""
        _check_all(dictionaries)
        with self._writing.transaction() as connection:
            found = get_glossary(connection, name, owner, OWN)
            if new_name not in (None, found.name):
                rename_glossary(connection, found, new_name)
            with self._bounded(connection, found.owner):
                _merge(connection, found, dictionaries)
            return dictionaries_of(connection, get_glossary(connection, found.id, owner))

    def put_dictionary(
        self, name: str, pair: Pair, entries: Sequence[GlossaryEntry], owner: Owner
    ) -> StoredGlossary:
        """Store a dictionary of the owner's glossary in place of its dictionary of this pair.
        Raises InvalidField or UnknownGlossary."""
        _check_all([(pair, entries)])
        with self._writing.transaction() as connection:
            glossary = get_glossary(connection, name, owner, OWN)
            keys = {one.pair: one.id for one in dictionaries_of(connection, glossary)}
            with self._bounded(connection, glossary.owner):
                key = keys.get(pair) or insert_further(connection, glossary, pair)
                replace_entries(connection, key, entries)
            glossary = get_glossary(connection, glossary.id, owner)
            return require_dictionary(dictionaries_of(connection, glossary), pair)

    def remove_dictionary(self, name: str, pair: Pair, owner: Owner) -> None:
        """Remove the dictionary of this pair. Raises UnknownGlossary, and InvalidField for the only
        one."""
        with self._writing.transaction() as connection:
            glossary = get_glossary(connection, name, owner, OWN)
            found = dictionaries_of(connection, glossary)
            removed = require_dictionary(found, pair)
            if len(found) == 1:
                raise InvalidField("a glossary must keep a dictionary; remove the glossary instead")
            if removed.id == glossary.id:  # the next one takes its row
                removed = found[1]
                set_pair(connection, glossary.id, removed.pair)
                replace_entries(connection, glossary.id, entries_of(connection, removed.id))
            connection.execute("DELETE FROM glossaries WHERE id = ?", (removed.id,))

    def remove(self, name: str, owner: Owner) -> None:
        """Remove the owner's glossary of this name. Raises UnknownGlossary."""
        with self._writing.transaction() as connection:
            found = get_glossary(connection, name, owner, OWN)
            remove_further(connection, found)
            connection.execute("DELETE FROM glossaries WHERE id = ?", (found.id,))

    def _add(
        self,
        connection: sqlite3.Connection,
        name: str,
        dictionaries: Sequence[Dictionary],
        owner: Owner,
    ) -> list[StoredGlossary]:
        check_name(name)
        if owner == Owner():
            raise KeyRequired("glossaries are stored for an API key, and the request has none")
        pair, _ = dictionaries[0]
        with self._bounded(connection, owner.id):
            key = insert_glossary(connection, stored_name(name, owner), *pair)
            _merge(connection, get_glossary(connection, key, owner), dictionaries)
        return dictionaries_of(connection, get_glossary(connection, key, owner))

    @contextlib.contextmanager
    def _bounded(self, connection: sqlite3.Connection, owner: str) -> Iterator[None]:
        """Raises InvalidField if the block gives an owner too much. What adds nothing is taken
        where more is stored than may be."""
        before = count_owned(connection, owner)
        yield
        for what, most, old, new in zip(
            ("glossaries", "terms in glossaries"),
            (self._max_glossaries, self._max_terms),
            before,
            count_owned(connection, owner),
            strict=True,
        ):
            if 0 < most < new and old < new:
                raise InvalidField(f"these would be {new} {what}, at most {most} may be stored")


def _merge(
    connection: sqlite3.Connection, glossary: StoredGlossary, dictionaries: Sequence[Dictionary]
) -> None:
    """Raises InvalidField if a dictionary has too much."""
    by_pair: dict[Pair, list[Sequence[GlossaryEntry]]] = {}
    for pair, entries in dictionaries:
        by_pair.setdefault(pair, []).append(entries)
    keys = {one.pair: one.id for one in dictionaries_of(connection, glossary)}
    for pair, parts in by_pair.items():
        key = keys.get(pair) or insert_further(connection, glossary, pair)
        merge_entries(connection, key, _joined(parts))


def _joined(parts: Sequence[Sequence[GlossaryEntry]]) -> Sequence[GlossaryEntry]:
    """The entries of all parts. Of several entries for one term the last counts, unless there is
    only one part."""
    if len(parts) == 1:
        return parts[0]
    return [
        *{(entry.source, entry.case_sensitive): entry for part in parts for entry in part}.values()
    ]


def _check_all(dictionaries: Sequence[Dictionary]) -> None:
    """Raises InvalidField."""
    for _, entries in dictionaries:
        check_entries(entries, MAX_ENTRIES, "entries")
