"""POST /translate, answered at once or as server-sent events: token, token, ..., final or error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.sse import format_sse_event
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from service.errors import ServiceError
from service.http.answers import (
    ErrorMessage,
    TranslateResponse,
    render,
    render_answer,
    render_piece,
)
from service.http.bodies import JSON, PLAIN
from service.http.error_answers import unforeseen
from service.http.openapi import (
    WITH_BODY,
    Offer,
    describe_body,
    describe_errors,
)
from service.http.request_log import RequestRecord
from service.http.requests import FIELD_TYPES, IGNORED_FIELDS_HEADER, OwnRoute, read_fields
from service.http.schemas import TranslateRequest
from service.http.state import ServerState, server_state
from service.http.translations import translate_texts
from service.translation.job import TranslationJob
from service.translation.results import TextPiece
from service.translation.translator import Pieces

PATH = "/translate"
EVENT_STREAM = "text/event-stream"
_EXAMPLE = {"q": "图书馆在哪里？", "source": "zh", "target": "en"}
_EXAMPLE_TRANSLATION = "Where is the library?"
_IGNORED_FIELDS = {
    IGNORED_FIELDS_HEADER: {
        "description": "Names of unknown fields, percent-encoded, as many as fit.",
        "schema": {"type": "string", "maxLength": 256},
    }
}
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`handling=strict` refuses unknown fields instead of naming them.",
    "schema": {"type": "string"},  # unknown preferences are ignored
    "example": "handling=lenient",
}


def make_router(offer: Offer) -> APIRouter:
    """Make the route, whose description names what the server offers."""
    router = APIRouter(route_class=OwnRoute)
    router.add_api_route(
        PATH,
        translate,
        methods=["POST"],
        response_model=TranslateResponse,
        responses=describe_errors(404, *WITH_BODY),
        openapi_extra=_describe(offer),
    )
    return router


async def translate(request: Request) -> Response:
    """Translate a text or a list of texts; answer when all sentences are translated.

    The fields may also come as a form, or in the query. A text/plain body with ?source=&target=
    gets the translation as plain text. With `Accept: text/event-stream` the answer is a stream of
    events: token, then final or error.
    """
    state = server_state(request)
    fields = await read_fields(request, state.limits, (*FIELD_TYPES, PLAIN))
    wanted = fields.parse(request, TranslateRequest)
    if EVENT_STREAM in request.headers.get("accept", ""):
        job = await state.admit(request.state.caller, wanted)
        return await _event_stream(wanted, job, state, request.state.record)
    translations = await translate_texts(request, state, wanted)
    if fields.media_type == PLAIN:
        return PlainTextResponse(translations[0].text)
    answer = await render_answer(wanted, translations)
    return Response(answer, media_type=JSON)


class _EventStream(StreamingResponse):
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


async def _event_stream(
    wanted: TranslateRequest, job: TranslationJob, state: ServerState, record: RequestRecord
) -> _EventStream:
    """Start the job before the response, so early errors are ordinary error answers."""
    work = contextlib.AsyncExitStack()
    pieces = await work.enter_async_context(state.suggested.stream(job))
    return _EventStream(_events(wanted, pieces, record), work, record)


async def _events(
    wanted: TranslateRequest, pieces: Pieces, record: RequestRecord
) -> AsyncGenerator[bytes]:
    own_id = record.request_id
    try:
        async for piece in pieces:
            kind = "token" if isinstance(piece, TextPiece) else "final"
            message = await render_piece(wanted, piece, record)
            yield format_sse_event(data_str=message, event=kind)
    except Exception as failure:
        error = failure if isinstance(failure, ServiceError) else unforeseen(failure, own_id)
        record.status = error.status
        message = render(ErrorMessage.of(error, None))
        yield format_sse_event(data_str=message, event="error")


def _describe(offer: Offer) -> dict[str, Any]:
    """What FastAPI cannot know: the body and the header."""
    answer = {"$ref": f"#/components/schemas/{TranslateResponse.__name__}"}
    done = {
        "description": "The translation.",
        "headers": _IGNORED_FIELDS,
        "content": {
            JSON: {"schema": answer, "example": {"translatedText": _EXAMPLE_TRANSLATION}},
        },
    }
    described = describe_body(TranslateRequest, offer, _EXAMPLE)
    return {**described, "parameters": [_PREFER], "responses": {"200": done}}
