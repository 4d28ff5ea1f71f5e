"""Better translations that clients suggested, in SQLite."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from service.stores.database import WAIT_SECONDS, Database
from service.translation.job import TextFormat

MAX_SUGGESTIONS = 10_000
MAX_CHARACTERS = 1000
"""Of a text, and of its suggestion."""
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
"""
_INSERT = """
INSERT INTO suggestions (source, target, format, text, suggestion, created_seconds)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_COLUMNS = "id, source, target, format, text, suggestion, approved_seconds IS NOT NULL"


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
    is_approved: bool


class SuggestionStore(Database):
    """The suggestions in a database. Every method may raise StorageFailed."""

    def __init__(self, path: Path, wait_seconds: float = WAIT_SECONDS) -> None:
        """Raises DatabaseError."""
        super().__init__(path, _SCHEMA, wait_seconds)

    def add(self, pair: SuggestedPair, suggestion: str) -> bool:
        """Store a suggestion, once. Returns whether there was room."""
        with self.transaction() as connection:
            (count,) = connection.execute("SELECT COUNT(*) FROM suggestions").fetchone()
            if count >= MAX_SUGGESTIONS:
                return False
            connection.execute(_INSERT, (*pair, suggestion, time.time()))
            return True

    def read(self) -> list[Suggestion]:
        """All suggestions, the oldest first."""
        with self.use() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM suggestions ORDER BY id")
            return [
                Suggestion(row[0], SuggestedPair(*row[1:5]), row[5], bool(row[6])) for row in rows
            ]

    def approved(self) -> Mapping[SuggestedPair, str]:
        """The suggestions in use; of several for the same text the one approved last."""
        with self.use() as connection:
            rows = connection.execute(
                "SELECT source, target, format, text, suggestion FROM suggestions"
                " WHERE approved_seconds IS NOT NULL ORDER BY approved_seconds, id"
            )
            return {SuggestedPair(*row[:4]): row[4] for row in rows}

    def approve(self, ids: Sequence[int]) -> int:
        """Put suggestions into use -> how many there are of these."""
        return self._execute("UPDATE suggestions SET approved_seconds = ? WHERE id = ?", ids)

    def remove(self, ids: Sequence[int]) -> int:
        """Forget suggestions -> how many there were of these."""
        return self._execute("DELETE FROM suggestions WHERE ? AND id = ?", ids)

    def _execute(self, statement: str, ids: Sequence[int]) -> int:
        now = time.time()
        with self.transaction() as connection:
            return sum(connection.execute(statement, (now, one)).rowcount for one in ids)
