"""POST /translate as server-sent events: token, token, ..., then final or error."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.errors import ServiceError
from service.http.answers import ErrorMessage, FinalMessage, TokenMessage, TranslateResponse
from service.http.error_handlers import error_of
from service.http.request_log import RequestRecord
from service.http.schemas import TranslateRequest
from service.http.state import ServerState
from service.translation.inspection import MAX_ENTRIES
from service.translation.job import TranslationJob
from service.translation.results import TextPiece, TranslationResult
from service.translation.text_work import num_characters, text_work
from service.translation.translator import Pieces

EVENT_STREAM = "text/event-stream"
_logger = logging.getLogger(__name__)


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
    wanted: TranslateRequest, job: TranslationJob, state: ServerState, record: RequestRecord
) -> EventStream:
    """Start the job before the response, so early errors are ordinary error answers."""
    work = contextlib.AsyncExitStack()
    pieces = await work.enter_async_context(state.suggested.stream(job))
    return EventStream(_events(wanted, pieces, record), work, record)


async def render_piece(
    wanted: TranslateRequest,
    piece: TextPiece | list[TranslationResult],
    record: RequestRecord,
    request_id: str | int | None = None,
) -> str:
    """The message for a piece or for the final answer, which `record` is told of."""
    record.has_delivered = True
    if isinstance(piece, TextPiece):
        return render(TokenMessage.of(wanted, piece, request_id))
    record.translations = piece
    return await text_work(
        _size_of(wanted, piece), lambda: render(FinalMessage.of(wanted, piece, request_id))
    )


async def render_answer(wanted: TranslateRequest, translations: list[TranslationResult]) -> bytes:
    """The answer of a request that is not streamed."""
    return await text_work(
        _size_of(wanted, translations),
        lambda: render(TranslateResponse.of(wanted, translations)).encode(),
    )


def render(message: BaseModel) -> str:
    return message.model_dump_json(exclude_none=True)


def _size_of(wanted: TranslateRequest, translations: list[TranslationResult]) -> int:
    if wanted.details in ("attention", "search"):
        return MAX_ENTRIES
    return num_characters(translation.text for translation in translations)


def unforeseen(error: Exception, request_id: str) -> ServiceError:
    """Log an unexpected exception; return the error for the client."""
    _logger.error("request failed", exc_info=error, extra={"request_id": request_id})
    return error_of(error)


async def _events(
    wanted: TranslateRequest, pieces: Pieces, record: RequestRecord
) -> AsyncGenerator[bytes]:
    try:
        async for piece in pieces:
            kind = "token" if isinstance(piece, TextPiece) else "final"
            yield _event(kind, await render_piece(wanted, piece, record))
    except ServiceError as error:
        record.status = error.status
        yield _event("error", render(ErrorMessage.of(error, None)))
    except Exception as error:
        told = unforeseen(error, record.request_id)
        record.status = told.status
        yield _event("error", render(ErrorMessage.of(told, None)))


def _event(kind: str, message: str) -> bytes:
    return format_sse_event(data_str=message, event=kind)
