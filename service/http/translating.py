"""Translate a request's texts or its file for a route, at once or as a stream that ends with its
client, and its work with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.commons.file_store import StoredFile
from service.documents.file_translator import FileJob
from service.documents.formats import format_of
from service.errors import ClientGone, DocumentTooLarge, MissingField
from service.http.bodies import MULTIPART, SentFile
from service.http.head import LOST
from service.http.limits import RequestLimits
from service.http.request_log import RequestRecord
from service.http.requests import RequestFields, read_fields
from service.http.schemas import TranslateRequest
from service.http.state import ServerState, server_state
from service.translation.job import TranslationJob
from service.translation.results import TranslationResult
from service.translation.translator import Pieces

EVENT_STREAM = "text/event-stream"
_FORM_BYTES = 65_536
"""The bytes that a form may have beside its file."""
_NAME_CHARACTERS = 80
_CHARACTER_SECONDS = 5e-5
"""CPU time to read a file for which a character counts: about that of translating one. Writing
takes as much again."""
_T = TypeVar("_T")


async def translate_texts(
    request: Request, wanted: TranslateRequest, num_characters: int | None = None
) -> list[TranslationResult]:
    """Translate unless the client disconnects; store the results in the request's record.

    `num_characters`: see `ServerState.admit`. Raises a ServiceError.
    """
    state = server_state(request)
    job = await state.admit(request.state.caller, wanted, num_characters)
    translations = await until_disconnected(request, state.suggested.translate(job))
    request.state.record.translations = translations
    return translations


async def read_upload(request: Request) -> RequestFields:
    """The fields of a multipart form whose file may be larger than other bodies."""
    limits = server_state(request).limits
    most = max(limits.max_body_bytes, limits.max_document_bytes + _FORM_BYTES)
    return await read_fields(request, (MULTIPART,), most)


def sent_file(
    limits: RequestLimits, fields: RequestFields, given_name: str | None = None
) -> SentFile:
    """The file in the field `file`; `given_name` replaces its own name.

    Raises MissingField, UnsupportedFile or DocumentTooLarge.
    """
    file = fields.files.get("file")
    if file is None:
        raise MissingField("Invalid request: missing file parameter")
    file = SentFile(given_name or file.name, file.content)
    format_of(file.name)
    most = limits.max_document_bytes
    if len(file.content) > most:
        raise DocumentTooLarge(
            f"the file has {len(file.content)} bytes, at most {most} are allowed"
        )
    return file


async def translate_upload(
    request: Request, file: SentFile, wanted: TranslateRequest, *, replaces: bool = False
) -> tuple[str, StoredFile, str]:
    """Translate a file unless the client disconnects, and store it -> (its stored name, the file,
    the language of its source).

    `wanted`: languages and options, without texts. The caller is charged for the texts of the file.
    Raises a ServiceError.
    """
    state, caller = server_state(request), request.state.caller
    job = await state.admit(caller, wanted, num_characters=0)
    work = FileJob(file.name, file.content, job, replaces)

    async def charge(num_characters: int, seconds: float) -> None:
        await caller.charge(num_characters, max(num_characters, seconds / _CHARACTER_SECONDS))

    translation = state.file_translator.translate(work, on_counted=charge)
    done = await until_disconnected(request, translation)
    name = _download_name(file.name, job.target, done.format.suffix)
    media_type, whose = done.format.media_type, (caller.owner.id, caller.name)
    stored = StoredFile(done.content, done.num_characters, name, media_type, *whose)
    return await state.commons.files.add(stored), stored, done.source


def _download_name(name: str, target: str, suffix: str) -> str:
    """The file's own name with the language, without path and control characters."""
    own = name.replace("\\", "/").rpartition("/")[2]
    stem = "".join(char for char in own.rpartition(".")[0] if char.isprintable() and char != '"')
    return f"{stem[:_NAME_CHARACTERS] or 'translated'}_{target}{suffix}"


async def until_disconnected(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work`; if the client disconnects first, cancel it and raise ClientGone."""
    task = asyncio.current_task()
    assert task is not None
    guard = _Guard(task, request)
    try:
        return await work
    except asyncio.CancelledError:
        if guard.has_cancelled and not task.uncancel():
            raise ClientGone("the client disconnected") from None
        raise
    finally:
        guard.end()


class _Guard:
    """Cancels a task when its client disconnects. Our own server says so by a future; from any
    other a second task must receive it, once the work has not ended in its first turn of the event
    loop."""

    def __init__(self, guarded: asyncio.Task[Any], request: Request) -> None:
        self._guarded, self._request, self.has_cancelled = guarded, request, False
        self._lost: asyncio.Future[None] | None = request.scope.get("extensions", {}).get(LOST)
        self._begin: asyncio.Handle | None = None
        self._watching: asyncio.Task[None] | None = None
        if self._lost is not None:
            self._lost.add_done_callback(self._cancel)
        else:
            self._begin = guarded.get_loop().call_soon(self._watch_beside)

    def end(self) -> None:
        if self._lost is not None:
            self._lost.remove_done_callback(self._cancel)
        if self._begin is not None:
            self._begin.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _cancel(self, _: object = None) -> None:
        self.has_cancelled = True
        self._guarded.cancel()

    def _watch_beside(self) -> None:
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        """A failing `receive` counts as a disconnect."""
        with contextlib.suppress(Exception):
            while (await self._request.receive())["type"] != "http.disconnect":
                pass
        self._cancel()


class EventStream(StreamingResponse):
    """A streaming response that always closes `work` at its end, and detects a disconnect even
    while there is nothing to send."""

    media_type = EVENT_STREAM

    def __init__(
        self, events: AsyncGenerator[bytes], work: contextlib.AsyncExitStack, record: RequestRecord
    ) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store"})
        self._work, self._record = work, record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._work:
            sending = asyncio.ensure_future(self.stream_response(send))
            leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not sending.done():
                    self._record.status = None
            finally:
                sending.cancel()
                leaving.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)
            if not sending.cancelled():
                sending.result()


async def event_stream(
    job: TranslationJob,
    state: ServerState,
    record: RequestRecord,
    events: Callable[[Pieces], AsyncGenerator[bytes]],
) -> EventStream:
    """Start the job before the response, so early errors are ordinary error answers."""
    work = contextlib.AsyncExitStack()
    pieces = await work.enter_async_context(state.suggested.stream(job))
    return EventStream(events(pieces), work, record)
