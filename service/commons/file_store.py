"""Translated files that wait in memory for their download."""

from __future__ import annotations

import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

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
        self._stored_seconds: dict[str, float] = {}
        self._num_bytes: Counter[str] = Counter()
        """Of each client's files."""

    async def add(self, file: StoredFile) -> str:
        """Store a file -> its name."""
        self._drop_old()
        self._make_room()  # the one before was allowed to be too large
        self._num_bytes[file.client] += file.num_bytes
        self._make_room()
        name = secrets.token_hex(_NAME_BYTES)
        self._files[name] = file
        self._stored_seconds[name] = self._clock()
        return name

    async def find(self, name: str) -> StoredFile | None:
        self._drop_old()
        return self._files.get(name)

    def remove(self, name: str) -> None:
        if file := self._files.pop(name, None):
            del self._stored_seconds[name]
            self._num_bytes -= Counter({file.client: file.num_bytes})  # without those of none

    def _drop_old(self) -> None:
        """Files are in the order of their age."""
        oldest_seconds = self._clock() - self._max_seconds
        while self._files:
            name = next(iter(self._files))
            if self._stored_seconds[name] >= oldest_seconds:
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
