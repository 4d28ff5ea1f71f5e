"""The API keys of a server under test, and what its database has for them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from service.stores.api_key import KeyOptions, read_key
from service.stores.keys import KeyStore, month_of

_LIMITED_PER_MINUTE = 20


@dataclass(frozen=True)
class Keys:
    """Keys as clients write them."""

    plain: str
    counted: str
    limited: str

    @classmethod
    def make(cls, database: Path) -> Keys:
        limited = KeyOptions(requests_per_minute=_LIMITED_PER_MINUTE)
        with contextlib.closing(KeyStore(database)) as store:
            made = [store.create(options)[0] for options in (KeyOptions(), KeyOptions(), limited)]
        return cls(*made)


def counted_usage(database: Path, key: str) -> int:
    """The requests that the database has for the key this month."""
    presented = read_key(key)
    assert presented is not None
    query = "SELECT requests FROM api_key_usage WHERE id = ? AND month = ?"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        row = connection.execute(query, (presented.id, month_of(time.time()))).fetchone()
    return int(row[0]) if row else 0
