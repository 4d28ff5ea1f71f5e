"""What becomes of sent files, within bounds of their number, bytes and time."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import heapq
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from service.commons.spool import Spool
from service.commons.stored_file import StoredFile
from service.errors import NotReady
from service.exhaustion import in_thread_or_here
from service.periodic import repeated

_BYTES_OF_ENTRY = 16_384
"""What a file without content takes on disk and in memory, rounded up."""
_EXPIRY_SECONDS = 10.0
FILE_LOST = NotReady.code, "the process that had the file in work has ended; send the file again"
"""The error of a file when its process has ended."""
_logger = logging.getLogger(__name__)
Intake = Literal["taken", "full", "own_full", "unwritten"]
"""Whether there is room for a file: there is none, its client has its share of it, or its record
cannot be written."""


@dataclass(frozen=True)
class FileBounds:
    """How many files may wait or be in work; how many bytes these may have, and as many their
    translations; how long a translation stays."""

    max_files: int
    max_bytes: int
    max_seconds: float


class FileStore:
    """Files by names that cannot be guessed. Used on the event loop only.

    A client takes at most three quarters of the room for files that wait or are in work. Old
    translations are dropped. If all together would have too many bytes, the client with the most
    loses its oldest: one that has no more than an equal share loses nothing to others.
    """

    def __init__(
        self,
        spool: Spool,
        bounds: FileBounds,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`wall_clock`: seconds since the epoch, which only records have: it may be moved."""
        self._spool, self._bounds = spool, bounds
        self._clock, self._wall_clock = clock, wall_clock
        self._files: dict[str, StoredFile] = {}
        """Those that have ended are in the order of their end."""
        self._num_open: Counter[str] = Counter()
        self._open_bytes: Counter[str] = Counter()
        """Of each client's files that wait or are in work."""
        self._num_bytes: Counter[str] = Counter()
        """Of each client's translations, and of those that are about to be written."""
        self._cancel: Callable[[str], None] = _ignore

    def follow(self, cancel: Callable[[str], None]) -> None:
        """Call `cancel` with the name of a file that is removed while it waits or is in work."""
        self._cancel = cancel

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Have the directory inside the block, and drop old files in time. Raises OSError."""
        with self._spool.opened():
            self._restore()
            async with repeated(self._drop_old, _EXPIRY_SECONDS):
                yield

    async def add(self, file: StoredFile) -> Intake:
        """Take room for a file that is to be translated, unless there is none."""
        if (room := self._room_for(file)) != "taken":
            return room
        file = dataclasses.replace(file, changed_seconds=self._clock())
        if not self._recorded(file):
            return "unwritten"
        self._enter(file)
        return "taken"

    async def find(self, name: str) -> StoredFile | None:
        """A file, unless it is too old."""
        file = self._files.get(name)
        return None if file is None or self._is_old(file) else file

    def progress(self, name: str, num_done: int, num_characters: int) -> None:
        """So many characters of the texts of a file in work are translated."""
        if (file := self._open(name)) is None:
            return
        now = self._clock()
        self._files[name] = dataclasses.replace(
            file,
            state="translating",
            num_done=num_done,
            num_characters=num_characters,
            began_seconds=file.began_seconds if num_done else now,
            changed_seconds=now,
        )

    async def keep(self, name: str, num_bytes: int) -> bool:
        """Take room for the translation of a file in work, which is written next. False if there is
        none, or nobody wants it any more."""
        if (file := self._open(name)) is None:
            return False
        dropped = self._to_drop(file.client, num_bytes + _BYTES_OF_ENTRY)
        if dropped is None:
            return False
        self._count(file, -1)
        self._files[name] = file = dataclasses.replace(file, num_bytes=num_bytes)
        self._count(file, 1)
        await self._remove_all(dropped)
        return True

    async def finish(self, name: str, source: str) -> None:
        """The translation is written. `source`: the language that it is of."""
        self._end(name, state="done", source=source)

    def fail(self, name: str, code: str, message: str, source: str = "") -> None:
        """The file cannot be translated. `source`: its language, if no model has that."""
        self._end(name, state="error", num_bytes=0, source=source, error=(code, message))

    def remove(self, name: str) -> None:
        """Forget a file, and cancel the work on it."""
        self._spool.remove(name)
        self._forget(name)

    async def _remove_all(self, names: Sequence[str]) -> None:
        """Remove files; in a thread from the disk, because there may be thousands."""
        for name in names:
            self._forget(name)
        if names:
            await in_thread_or_here(functools.partial(self._spool.remove, *names))

    def _forget(self, name: str) -> None:
        if (file := self._files.pop(name, None)) is None:
            return
        self._count(file, -1)
        if not file.has_ended:
            self._cancel(name)

    def _open(self, name: str) -> StoredFile | None:
        """A file that waits or is in work."""
        file = self._files.get(name)
        return None if file is None or file.has_ended else file

    def _end(self, name: str, **changes: object) -> None:
        """One that was removed or lost meanwhile may have been written since."""
        if (file := self._open(name)) is not None:
            self._count(self._files.pop(name), -1)
            file = dataclasses.replace(file, changed_seconds=self._clock(), **changes)  # type: ignore[arg-type]
            self._enter(file)
            self._recorded(file)
        self._drop_contents(name)
        self._drop_some()

    def _drop_contents(self, name: str) -> None:
        """Remove from the disk what nobody needs of a file that has ended or is gone."""
        if (file := self._files.get(name)) is None:
            self._spool.remove(name)
            return
        self._spool.remove_sent(name)
        if file.state == "error":
            self._spool.remove_translated(name)

    def _enter(self, file: StoredFile) -> None:
        self._files[file.name] = file
        self._count(file, 1)

    def _count(self, file: StoredFile, sign: int) -> None:
        """Count what the file takes, or no more."""
        if not file.has_ended:
            _add(self._num_open, file.client, sign)
            _add(self._open_bytes, file.client, sign * (file.num_sent_bytes + _BYTES_OF_ENTRY))
        if file.has_ended or file.num_bytes:
            _add(self._num_bytes, file.client, sign * (file.num_bytes + _BYTES_OF_ENTRY))

    def _room_for(self, file: StoredFile) -> Intake:
        num_bytes, client = file.num_sent_bytes + _BYTES_OF_ENTRY, file.client
        for taken, amount, most in (
            (self._num_open, 1, self._bounds.max_files),
            (self._open_bytes, num_bytes, self._bounds.max_bytes),
        ):
            if taken.total() + amount > most:
                return "full"
            if most > 1 and 4 * (taken[client] + amount) > 3 * most:
                return "own_full"
        return "taken"

    def _drop_some(self) -> None:
        """Drop what has no room beside a file that has ended."""
        for name in self._to_drop() or ():
            self.remove(name)

    def _to_drop(self, client: str = "", num_bytes: int = 0) -> list[str] | None:
        """The files without which all translations have at most the bytes that they may have, also
        with so many more of a client: the oldest of the clients with the most. None: there are not
        enough."""
        left, dropped = self._num_bytes.copy(), list[str]()
        _add(left, client, num_bytes)
        excess, losses = left.total() - self._bounds.max_bytes, self._losses(left)
        while excess > 0:
            if (file := next(losses, None)) is None:
                return None
            dropped.append(file.name)
            excess -= file.num_bytes + _BYTES_OF_ENTRY
        return dropped

    def _losses(self, left: Counter[str]) -> Iterator[StoredFile]:
        """The oldest file of the client with the most bytes, again and again, as long as that has
        more than an equal share."""
        ended, num_clients = self._ended(), len(left)
        largest = [(-num_bytes, client) for client, num_bytes in left.items()]
        heapq.heapify(largest)
        while largest and -largest[0][0] * num_clients > self._bounds.max_bytes:
            negative, client = heapq.heappop(largest)
            if own := ended.get(client):
                yield (file := own.popleft())
                negative += file.num_bytes + _BYTES_OF_ENTRY
                num_clients -= not negative
                heapq.heappush(largest, (negative, client))

    def _ended(self) -> dict[str, deque[StoredFile]]:
        """The files of each client that have ended, in the order of their end."""
        found: dict[str, deque[StoredFile]] = {}
        for file in self._files.values():
            if file.has_ended:
                found.setdefault(file.client, deque()).append(file)
        return found

    def _is_old(self, file: StoredFile) -> bool:
        return file.has_ended and self._clock() - file.changed_seconds > self._bounds.max_seconds

    async def _drop_old(self) -> None:
        await self._remove_all([name for name, file in self._files.items() if self._is_old(file)])

    def _restore(self) -> None:
        """Take over what is in the directory. Nobody works on its files any more."""
        now, ahead = self._clock(), self._wall_clock() - self._clock()
        for file in sorted(self._spool.read_records(), key=lambda one: one.changed_seconds):
            changed = min(now, file.changed_seconds - ahead)
            self._enter(dataclasses.replace(file, changed_seconds=changed))
            if not file.has_ended:
                self.fail(file.name, *FILE_LOST)
        self._drop_some()

    def _recorded(self, file: StoredFile) -> bool:
        """Whether the file's record could be written, without an address."""
        client = file.client if file.owner else ""
        changed = file.changed_seconds + self._wall_clock() - self._clock()
        record = dataclasses.replace(file, client=client, changed_seconds=changed)
        try:
            self._spool.write_record(record)
        except OSError as error:
            _logger.error("the record of a file cannot be written: %s", error.strerror)
            return False
        return True


def _ignore(_: str) -> None:
    """Nobody works on files here."""


def _add(counts: Counter[str], client: str, amount: int) -> None:
    """Clients without anything have no entry."""
    counts[client] += amount
    if not counts[client]:
        del counts[client]
