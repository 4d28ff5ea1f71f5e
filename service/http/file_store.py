"""Translated files that wait in memory for their download."""

from __future__ import annotations

import secrets
import time
from collections import Counter, OrderedDict
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
    "" without one, `client` that key or the address."""

    content: bytes
    num_characters: int
    download_name: str
    media_type: str
    owner: str
    client: str
    stored_seconds: float
    key: str = field(default_factory=lambda: secrets.token_hex(_NAME_BYTES))

    @property
    def num_bytes(self) -> int:
        return len(self.content) + _BYTES_OF_ENTRY


class FileStore:
    """Files by names that cannot be guessed. Old files are dropped. If all together would have too
    many bytes, the client with the most loses its oldest: who has no more than an equal share
    loses nothing to others."""

    def __init__(
        self,
        max_bytes: int = _MAX_BYTES,
        max_seconds: float = _MAX_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._max_seconds, self._clock = max_bytes, max_seconds, clock
        self._files: OrderedDict[str, StoredFile] = OrderedDict()
        self._num_bytes: Counter[str] = Counter()
        """Of each client's files."""

    def add(
        self,
        content: bytes,
        num_characters: int,
        download_name: str,
        media_type: str,
        owner: str,
        client: str,
    ) -> tuple[str, StoredFile]:
        """Store a file -> (its name, the file)."""
        self._drop_old()
        now = self._clock()
        file = StoredFile(content, num_characters, download_name, media_type, owner, client, now)
        self._make_room()  # the one before was allowed to be too large
        self._num_bytes[client] += file.num_bytes
        self._make_room()
        name = secrets.token_hex(_NAME_BYTES)
        self._files[name] = file
        return name, file

    def get(self, name: str, owner: str) -> StoredFile:
        """A file of the owner; one that was sent without a key is anybody's. Raises UnknownFile."""
        self._drop_old()
        file = self._files.get(name)
        if file is None or file.owner not in ("", owner):
            raise UnknownFile("there is no such file, or it has expired")
        return file

    def remove(self, name: str) -> None:
        if file := self._files.pop(name, None):
            self._num_bytes -= Counter({file.client: file.num_bytes})  # without those of none

    def _drop_old(self) -> None:
        """Files are in the order of their age."""
        oldest_seconds = self._clock() - self._max_seconds
        while self._files:
            name, file = next(iter(self._files.items()))
            if file.stored_seconds >= oldest_seconds:
                return
            self.remove(name)

    def _make_room(self) -> None:
        """A new file, which is counted but not stored yet, stays however large it is."""
        while self._num_bytes.total() > self._max_bytes:
            ((largest, _),) = self._num_bytes.most_common(1)
            names = (name for name, file in self._files.items() if file.client == largest)
            if (oldest := next(names, None)) is None:
                return
            self.remove(oldest)
