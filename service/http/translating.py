"""Translate a request's texts for a route, at once or as a stream. If the client leaves, the work
ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.errors import ClientGone, ServiceError, drop_frames
from service.http.error_answers import unforeseen
from service.http.head import CONNECTION_LOST
from service.http.request_log import RequestRecord
from service.http.state import ServerState, server_state
from service.http.translate_request import TranslateRequest
from service.translation.job import TranslationJob
from service.translation.results import TranslationResult
from service.translation.translator import Pieces

EVENT_STREAM = "text/event-stream"
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
        self._lost: asyncio.Future[None] | None = request.scope.get("extensions", {}).get(
            CONNECTION_LOST
        )
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

    def __init__(
        self,
        events: AsyncGenerator[bytes],
        work: contextlib.AsyncExitStack,
        record: RequestRecord,
        media_type: str,
    ) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store"}, media_type=media_type)
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


def stream_error(failure: Exception, record: RequestRecord) -> ServiceError:
    """The error that ends a stream, which the record is told of."""
    error = failure
    if not isinstance(error, ServiceError):
        error = unforeseen(failure, record.request_id)
    drop_frames(failure)
    record.status = error.status
    return error


async def event_stream(
    job: TranslationJob,
    state: ServerState,
    record: RequestRecord,
    events: Callable[[Pieces], AsyncGenerator[bytes]],
    media_type: str = EVENT_STREAM,
) -> EventStream:
    """Start the job before the response, so early errors are ordinary error answers."""
    work = contextlib.AsyncExitStack()
    pieces = await work.enter_async_context(state.suggested.stream(job))
    return EventStream(events(pieces), work, record, media_type)
