"""Open a store of the server's database for one command."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from service.commands.failure import fail
from service.errors import ServiceError
from service.stores.database import DatabaseError


class _Closing(Protocol):
    def close(self) -> None: ...


_Store = TypeVar("_Store", bound=_Closing)


@contextlib.contextmanager
def opened(open_store: Callable[[Path], _Store], path: Path) -> Iterator[_Store]:
    """A store that closes at the end; what the database or the store refuses ends the command with
    one line."""
    try:
        with contextlib.closing(open_store(path)) as store:
            yield store
    except (DatabaseError, ServiceError) as error:
        fail(str(error))
    except sqlite3.Error as error:
        fail(f"the database {path} cannot be used: {error}")
