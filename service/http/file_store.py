"""Translated files that wait in memory for their download."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from service.errors import UnknownFile

_MAX_BYTES = 32 * 2**20
_MAX_SECONDS = 600.0
_NAME_BYTES = 24
_BYTES_OF_ENTRY = 1024
"""The memory of a file without content, rounded up."""


@dataclass(frozen=True)
class StoredFile:
    """A translated file; `key` is a second secret, `num_characters` the length of its source's
    texts, `download_name` what the client may call it, `owner` the id of the API key that sent it,
    "" without one."""

    content: bytes
    num_characters: int
    download_name: str
    media_type: str
    owner: str
    stored_seconds: float
    key: str = field(default_factory=lambda: secrets.token_hex(_NAME_BYTES))

    @property
    def num_bytes(self) -> int:
        return len(self.content) + _BYTES_OF_ENTRY


class FileStore:
    """Files by names that cannot be guessed. Old files are dropped, and the oldest ones if all
    together would have too many bytes."""

    def __init__(
        self,
        max_bytes: int = _MAX_BYTES,
        max_seconds: float = _MAX_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._max_seconds, self._clock = max_bytes, max_seconds, clock
        self._files: OrderedDict[str, StoredFile] = OrderedDict()
        self._num_bytes = 0

    def add(
        self, content: bytes, num_characters: int, download_name: str, media_type: str, owner: str
    ) -> tuple[str, StoredFile]:
        """Store a file -> (its name, the file)."""
        now = self._clock()
        file = StoredFile(content, num_characters, download_name, media_type, owner, now)
        self._num_bytes += file.num_bytes
        name = secrets.token_hex(_NAME_BYTES)
        self._files[name] = file
        self._drop()
        return name, file

    def get(self, name: str, owner: str) -> StoredFile:
        """A file of the owner; one that was sent without a key is anybody's. Raises UnknownFile."""
        self._drop()
        file = self._files.get(name)
        if file is None or file.owner not in ("", owner):
            raise UnknownFile("there is no such file, or it has expired")
        return file

    def remove(self, name: str) -> None:
        if file := self._files.pop(name, None):
            self._num_bytes -= file.num_bytes

    def _drop(self) -> None:
        """Files are in the order of their age; the newest stays, however large it is."""
        oldest_seconds = self._clock() - self._max_seconds
        while self._files:
            name, file = next(iter(self._files.items()))
            is_over = self._num_bytes > self._max_bytes and len(self._files) > 1
            if file.stored_seconds >= oldest_seconds and not is_over:
                return
            self.remove(name)
