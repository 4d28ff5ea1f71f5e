"""What all front ends of a server count and keep in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from service.commons.file_store import Intake
from service.commons.spool import Spool
from service.commons.stored_file import StoredFile
from service.stores.keys import Used


class Windows(Protocol):
    """What each client does in a sliding minute."""

    async def count(
        self, name: str, limit: int, amount: int = 1, *, is_test: bool = False
    ) -> int | None:
        """Count `amount`, at most `limit`, under a name, unless it would exceed the limit.

        A negative amount is taken out again. Returns None, or after how many seconds it would not.
        `is_test`: count nothing.
        """

    async def close(self) -> None: ...


class Places(Protocol):
    """How many requests of each client are in progress."""

    async def take(self, client: str, limit: int) -> bool:
        """Count a request until `leave`; False if the client has as many as it may."""

    def leave(self, client: str) -> None: ...


class Usage(Protocol):
    """What each key uses a month."""

    async def used(self, key_id: str) -> Used: ...

    async def reserve(self, key_id: str, num_characters: int, quota: int) -> bool: ...

    def settle(self, key_id: str, num_characters: int, *, is_used: bool) -> None: ...

    def kept_current(self) -> AbstractAsyncContextManager[None]: ...


class Files(Protocol):
    """Files that wait, are in work, or are translated and wait for their download."""

    def follow(self, cancel: Callable[[str], None]) -> None: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...

    async def add(self, file: StoredFile) -> Intake: ...

    async def find(self, name: str) -> StoredFile | None: ...

    def progress(self, name: str, num_done: int, num_characters: int) -> None: ...

    async def keep(self, name: str, num_bytes: int) -> bool: ...

    async def finish(self, name: str, source: str) -> None: ...

    def fail(self, name: str, code: str, message: str, source: str = "") -> None: ...

    def remove(self, name: str) -> None: ...


@dataclass(frozen=True)
class Commons:
    """None: nobody has a limit of a minute, or there are no keys. `spool`: the contents of
    files."""

    windows: Windows | None
    places: Places
    usage: Usage | None
    files: Files
    spool: Spool
