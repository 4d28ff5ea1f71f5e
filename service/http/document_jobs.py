"""Sent files from their arrival to their translation, which waits for its download."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import BinaryIO

from service.commons.commons import Commons
from service.commons.file_store import FILE_LOST
from service.commons.stored_file import StoredFile
from service.documents.fair_queue import FairQueue
from service.documents.file_translator import FileJob, FileTranslator
from service.documents.formats import FileFormat
from service.errors import (
    Cancelled,
    Draining,
    InvalidField,
    NotDone,
    NotReady,
    Overloaded,
    ServiceError,
    StorageFailed,
    TooManyAtOnce,
    TooManyCharacters,
    UnknownFile,
    drop_frames,
    outcome_label,
    printable,
)
from service.http.access.caller import Caller
from service.http.error_answers import unforeseen
from service.observability.logs import log_line
from service.observability.metrics import Metrics

_logger = logging.getLogger(__name__)
_MAX_RUNNING, _MAX_OF_CLIENT = 12, 8
_RETRY_SECONDS = 5
_NAME_CHARACTERS = 80
_CHARACTER_SECONDS = 5e-5
"""CPU time to read a file for which a character counts: about that of translating one. Writing
takes as much again."""
_REMOVED = "the file was removed"
_GONE = "there is no such file, or it has expired"


@dataclass(frozen=True)
class SentJob:
    """A file to translate. `caller`: who is charged for its texts; `request_id`: of the request
    that sent it; `is_awaited`: a request waits for it, which is refused where a file without one
    waits; `other_than`: the language that the file may not be in."""

    work: FileJob
    caller: Caller
    request_id: str
    is_awaited: bool = False
    other_than: str | None = None


class DocumentJobs:
    """The files that this process has to translate.

    Each ends as translated or failed, also if its client leaves, unless it is removed. Used on the
    event loop only.
    """

    def __init__(self, translator: FileTranslator, commons: Commons, metrics: Metrics) -> None:
        self._translator, self._metrics = translator, metrics
        self._files, self._spool = commons.files, commons.spool
        self._queue = FairQueue(_MAX_RUNNING, _MAX_OF_CLIENT)
        self._jobs: dict[str, SentJob] = {}
        """Those that have not ended, by the name of their file."""
        self._awaited: dict[str, asyncio.Future[str]] = {}
        """The languages of files that a request waits for."""
        self._is_stopping = False
        self._files.follow(self._cancel)
        metrics.documents_waiting.set_function(lambda: self._queue.num_waiting)
        metrics.documents_running.set_function(lambda: self._queue.num_running)

    @property
    def num_open(self) -> int:
        return len(self._jobs)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Have the directory of files inside the block. Raises OSError."""
        async with self._files.running():
            yield
            await self.stop()

    async def stop(self) -> None:
        """Fail what waits or is in work."""
        self._is_stopping = True
        for name in await self._queue.cancel_all():
            self._end(name, Draining())

    async def submit(self, sent: SentJob) -> StoredFile:
        """Accept a file, which is translated in its turn. Raises a ServiceError."""
        work, caller = sent.work, sent.caller
        found = self._translator.check(work.name, work.job)
        whose, num_bytes = (caller.owner.id, caller.client.name), len(work.content)
        file = StoredFile(_download_name(work, found), found.media_type, *whose, num_bytes)
        try:
            await self._take_room(file)
            await _written(self._spool.write_sent, file.name, work.content)
        except BaseException as error:
            self._files.remove(file.name)
            raise _no_room(error) if isinstance(error, OSError) else error from None
        if sent.is_awaited:
            self._awaited[file.name] = asyncio.get_running_loop().create_future()
        work = dataclasses.replace(work, content=b"")  # it is on disk
        self._jobs[file.name] = dataclasses.replace(sent, work=work)
        self._queue.add(file.name, file.client, functools.partial(self._run, file.name))
        return file

    async def finished(self, file: StoredFile) -> str:
        """The language of a file that was sent with `is_awaited`, once it is translated. A caller
        that is cancelled wants it no more. Raises a ServiceError."""
        ticket = self._jobs[file.name].work.job.ticket
        try:
            async with asyncio.timeout_at(ticket.ends_seconds):
                return await self._awaited[file.name]
        except TimeoutError:
            self._files.remove(file.name)
            raise ticket.deadline_error() from None
        except asyncio.CancelledError:
            self._files.remove(file.name)
            raise
        finally:
            del self._awaited[file.name]

    async def find(self, name: str, owner: str) -> StoredFile:
        """A file of the owner; one that was sent without a key is anybody's. Raises UnknownFile."""
        file = await self._files.find(name)
        if file is None or file.owner not in ("", owner):
            raise UnknownFile(_GONE)
        return file

    async def translation(self, file: StoredFile) -> BinaryIO:
        """To be read. Raises NotDone, or UnknownFile if it has failed or is gone."""
        if file.error is not None:
            raise UnknownFile(f"the file has no translation: {file.error[1]}")
        if file.state != "done":
            raise NotDone("the file is not translated yet; ask for its status")
        try:
            return await asyncio.to_thread(self._spool.open_translated, file.name)
        except FileNotFoundError:
            raise UnknownFile(_GONE) from None

    def remove(self, name: str) -> None:
        """Forget a file, and cancel the work on it."""
        self._files.remove(name)

    async def _take_room(self, file: StoredFile) -> None:
        """Raises Overloaded, TooManyAtOnce or StorageFailed."""
        room = await self._files.add(file)
        if room == "full":
            raise Overloaded("too many files wait to be translated; try again later")
        if room == "own_full":
            raise TooManyAtOnce("Slowdown: too many of your files wait", _RETRY_SECONDS)
        if room == "unwritten":
            raise StorageFailed("the file cannot be stored; the server's log says why")

    async def _run(self, name: str) -> None:
        """Translate a file, and end it whatever happens."""
        sent, language = self._jobs[name], ""
        failure: ServiceError | None = None
        ticket = sent.work.job.ticket
        try:
            async with asyncio.timeout_at(ticket.ends_seconds):
                language = await self._translate(name, sent)
            await self._files.finish(name, language)
        except asyncio.CancelledError:
            failure = Draining() if self._is_stopping else Cancelled(_REMOVED)
        except TimeoutError:
            failure = ticket.deadline_error()
        except ServiceError as error:
            failure = error
            drop_frames(error)
        except Exception as error:
            failure = unforeseen(error, sent.request_id)
        await sent.caller.leave(failure.status if failure else 200)
        self._end(name, failure, language)

    async def _translate(self, name: str, sent: SentJob) -> str:
        """Write the translation of a file -> the language of its source."""
        self._files.progress(name, 0, 0)
        try:
            content = await asyncio.to_thread(self._spool.read_sent, name)
        except FileNotFoundError:  # what removes it tells this process later
            raise Cancelled(_REMOVED) from None
        work = dataclasses.replace(sent.work, content=content)
        report = functools.partial(self._files.progress, name)

        async def charge(num_characters: int, seconds: float) -> None:
            report(0, num_characters)
            weighted = max(num_characters, seconds / _CHARACTER_SECONDS)
            await self._charge(sent, num_characters, weighted)

        done = await self._translator.translate(work, report, charge)
        if done.source == sent.other_than:
            raise InvalidField("Source and target language are equal")
        if not await self._files.keep(name, len(done.content)):
            raise await self._why_not_kept(name)
        try:
            await _written(self._spool.write_translated, name, done.content)
        except OSError as error:
            raise _no_room(error) from error
        return done.source

    async def _why_not_kept(self, name: str) -> ServiceError:
        file = await self._files.find(name)
        if file is None or file.has_ended:  # who counted it has ended, and counts anew
            return NotReady(FILE_LOST[1])
        return StorageFailed("there is no room for the translation of the file")

    async def _charge(self, sent: SentJob, num_characters: int, num_weighted: float) -> None:
        """Charge the caller. A file that no request waits for stays until the caller's minute has
        room for it."""
        while True:
            try:
                await sent.caller.charge(num_characters, num_weighted)
            except TooManyCharacters as error:
                if sent.is_awaited:
                    raise
                with self._queue.pausing():
                    await asyncio.sleep(error.retry_after_seconds or 1)
            else:
                return

    def _cancel(self, name: str) -> None:
        """The file was removed."""
        if self._queue.cancel(name):
            self._end(name, Cancelled(_REMOVED))

    def _end(self, name: str, failure: ServiceError | None, language: str = "") -> None:
        """Tell everybody that the file is translated or has failed."""
        sent = self._jobs.pop(name)
        if failure is not None:
            detected = failure.detected_language or ""
            self._files.fail(name, failure.code, printable(str(failure)), detected)
        outcome = outcome_label(failure.status if failure else 200)
        self._metrics.count_document(outcome)
        if not sent.is_awaited:  # which its request's line tells
            facts = {"event": "document", "request_id": sent.request_id, "outcome": outcome}
            log_line(_logger, logging.INFO, lambda: facts)
        waiting = self._awaited.get(name)
        if waiting is None or waiting.done():
            return
        if failure is None:
            waiting.set_result(language)
        else:
            waiting.set_exception(failure)


async def _written(write: Callable[[str, bytes], None], name: str, content: bytes) -> None:
    """Write in a thread. Who is cancelled meanwhile goes on when it is written, and can remove it.
    Raises OSError."""
    writing = asyncio.ensure_future(asyncio.to_thread(write, name, content))
    try:
        await asyncio.shield(writing)
    finally:
        while not writing.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({writing})


def _download_name(work: FileJob, found: FileFormat) -> str:
    """The file's own name with the language, without path and control characters."""
    own = work.name.replace("\\", "/").rpartition("/")[2]
    stem = "".join(char for char in own.rpartition(".")[0] if char.isprintable() and char != '"')
    return f"{stem[:_NAME_CHARACTERS] or 'translated'}_{work.job.target}{found.suffix}"


def _no_room(error: OSError) -> StorageFailed:
    return StorageFailed(f"the file cannot be stored: {error.strerror}")
