"""Open a store of the server's database for one command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from service.commands.failure import fail
from service.errors import ServiceError, StorageFailed
from service.stores.database import PATIENT_SECONDS, DatabaseError


class _Closing(Protocol):
    def close(self) -> None: ...


_Store = TypeVar("_Store", bound=_Closing)


@contextlib.contextmanager
def opened(
    open_store: Callable[[Path, float], _Store], path: Path, *, is_new: bool = False
) -> Iterator[_Store]:
    """A store that closes at the end; what the database or the store refuses ends the command with
    one line. `is_new`: the database is created if it is missing."""
    if not is_new and not path.exists():
        fail(f"there is no database {path}")
    try:
        with contextlib.closing(open_store(path, PATIENT_SECONDS)) as store:
            yield store
    except StorageFailed as error:
        fail(f"the database {path} cannot be used: {error.__cause__ or error}")
    except (DatabaseError, ServiceError) as error:
        fail(str(error))
