"""Better translations that clients suggested, in SQLite."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from service.stores.database import WAIT_SECONDS, Database
from service.translation.job import TextFormat

MAX_WAITING = 10_000
"""Of suggestions that are not approved."""
MAX_CHARACTERS = 1000
"""Of a text that a client sends, and of its suggestion."""
_PAGE = 5000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS suggestions (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    format TEXT NOT NULL,
    text TEXT NOT NULL,
    suggestion TEXT NOT NULL,
    created_seconds REAL NOT NULL,
    approved_seconds REAL,
    UNIQUE (source, target, format, text, suggestion)
) STRICT;
CREATE INDEX IF NOT EXISTS waiting_suggestions ON suggestions (id) WHERE approved_seconds IS NULL;
CREATE TABLE IF NOT EXISTS approvals ( -- one row, which changes when what is in use does
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;
"""
_INSERT = """
INSERT INTO suggestions (source, target, format, text, suggestion, created_seconds)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_INSERT_APPROVED = """
INSERT INTO suggestions
    (source, target, format, text, suggestion, created_seconds, approved_seconds)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET approved_seconds = excluded.approved_seconds
"""
_COUNT_APPROVAL = """
INSERT INTO approvals VALUES (1, 1) ON CONFLICT DO UPDATE SET number = number + 1
"""
_COLUMNS = "id, source, target, format, text, suggestion"


class SuggestedPair(NamedTuple):
    """The text that a suggestion translates, with its format and the models' language codes."""

    source: str
    target: str
    format: TextFormat
    text: str


@dataclass(frozen=True)
class Suggestion:
    """A stored suggestion."""

    id: int
    pair: SuggestedPair
    suggestion: str


class SuggestionStore(Database):
    """The suggestions in a database. Every method may raise StorageFailed."""

    def __init__(self, path: Path, wait_seconds: float = WAIT_SECONDS) -> None:
        """Raises DatabaseError."""
        super().__init__(path, _SCHEMA, wait_seconds)

    def add(self, pair: SuggestedPair, suggestion: str) -> bool:
        """Store a suggestion, once. Returns whether it is stored: there may be no room."""
        with self.transaction() as connection:
            added = connection.execute(_INSERT, (*pair, suggestion, time.time())).rowcount
            (count,) = connection.execute(
                "SELECT COUNT(*) FROM suggestions WHERE approved_seconds IS NULL"
            ).fetchone()
            if not added or count <= MAX_WAITING:
                return True
            connection.rollback()
            return False

    def add_approved(self, suggestions: Sequence[tuple[SuggestedPair, str]]) -> None:
        """Store suggestions and put them into use; those that are there count as approved now."""
        with self.transaction() as connection:
            connection.executemany(_INSERT_APPROVED, map(_approved_now, suggestions))
            connection.execute(_COUNT_APPROVAL)

    def read(self, *, is_approved: bool) -> Iterator[Suggestion]:
        """The suggestions in use, or those that wait, the oldest first."""
        for row in self._rows(_COLUMNS, is_approved=is_approved):
            yield Suggestion(row[0], SuggestedPair(*row[1:5]), row[5])

    def texts(self) -> Iterator[tuple[int, str]]:
        """The id and the text of each suggestion in use."""
        yield from self._rows("id, text", is_approved=True)

    def approved(self) -> Generator[tuple[SuggestedPair, str]]:
        """The suggestions in use, the one approved last at the end, as they are at the first. The
        store can do nothing else meanwhile."""
        with self.use() as connection:
            rows = connection.execute(
                "SELECT source, target, format, text, suggestion FROM suggestions"
                " WHERE approved_seconds IS NOT NULL ORDER BY approved_seconds, id"
            )
            for row in rows:
                yield SuggestedPair(*row[:4]), row[4]

    def find(self, ids: Sequence[int]) -> list[tuple[SuggestedPair, str]]:
        """Those of these suggestions that are in use, the one approved last first."""
        marks = ", ".join("?" * len(ids))
        with self.use() as connection:
            rows = connection.execute(
                "SELECT source, target, format, text, suggestion FROM suggestions"
                f" WHERE approved_seconds IS NOT NULL AND id IN ({marks})"
                " ORDER BY approved_seconds DESC, id DESC",
                ids,
            )
            return [(SuggestedPair(*row[:4]), row[4]) for row in rows]

    def num_approvals(self) -> int:
        """A number that differs after what is in use has changed."""
        with self.use() as connection:
            row = connection.execute("SELECT number FROM approvals").fetchone()
        return 0 if row is None else int(row[0])

    def approve(self, ids: Sequence[int]) -> int:
        """Put suggestions into use -> how many there are of these."""
        return self._execute("UPDATE suggestions SET approved_seconds = ? WHERE id = ?", ids)

    def remove(self, ids: Sequence[int]) -> int:
        """Forget suggestions -> how many there were of these."""
        return self._execute("DELETE FROM suggestions WHERE ? AND id = ?", ids)

    def _execute(self, statement: str, ids: Sequence[int]) -> int:
        now = time.time()
        with self.transaction() as connection:
            count = sum(connection.execute(statement, (now, one)).rowcount for one in ids)
            connection.execute(_COUNT_APPROVAL)
        return count

    def _rows(self, columns: str, *, is_approved: bool) -> Iterator[Any]:
        """By id, in pages, so that others can use the store meanwhile; the id is the first
        column."""
        state = "IS NOT NULL" if is_approved else "IS NULL"
        statement = (
            f"SELECT {columns} FROM suggestions WHERE id > ? AND approved_seconds {state}"
            f" ORDER BY id LIMIT {_PAGE}"
        )
        rows: list[tuple[Any, ...]] = [(0,)]
        while rows:
            with self.use() as connection:
                rows = connection.execute(statement, (rows[-1][0],)).fetchall()
            yield from rows


def _approved_now(suggestion: tuple[SuggestedPair, str]) -> tuple[object, ...]:
    """The row. Its time is of its own: of several for one text the last one is used."""
    pair, text = suggestion
    now = time.time()
    return (*pair, text, now, now)
