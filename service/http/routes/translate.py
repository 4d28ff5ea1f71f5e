"""POST /translate, answered at once or as server-sent events: token, token, ..., final or error."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.sse import format_sse_event
from starlette.responses import PlainTextResponse, Response

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
from service.http.event_stream import EVENT_STREAM, event_stream
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    WITH_ENGINE,
    Offer,
    describe_body,
    describe_errors,
)
from service.http.request_log import RequestRecord
from service.http.requests import FIELD_TYPES, IGNORED_FIELDS_HEADER, read_fields
from service.http.routing import described_router
from service.http.schemas import TranslateRequest
from service.http.small_apis import answer_deeplx, is_deeplx
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.results import TextPiece
from service.translation.translator import Pieces

PATH = "/translate"
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
    router = described_router("Translation", *WITH_ACCESS, *WITH_ENGINE)
    router.add_api_route(
        PATH,
        translate,
        methods=["POST"],
        response_model=TranslateResponse,
        responses=describe_errors(404, *WITH_BODY),
        openapi_extra=_describe(offer),
    )
    return router


async def translate(request: Request) -> Any:
    """Translate a text or a list of texts; answer when all sentences are translated.

    The fields may also come as a form, or in the query. A text/plain body with ?source=&target=
    gets the translation as plain text. With `Accept: text/event-stream` the answer is a stream of
    events: token, then final or error.
    """
    state = server_state(request)
    fields = await read_fields(request, (*FIELD_TYPES, PLAIN))
    if is_deeplx(fields.json):
        return await answer_deeplx(request, fields)
    wanted = fields.parse(request, TranslateRequest)
    if EVENT_STREAM in request.headers.get("accept", ""):
        job, record = await state.admit(request.state.caller, wanted), request.state.record
        return await event_stream(job, state, record, lambda found: _events(wanted, found, record))
    translations = await translate_texts(request, wanted)
    if fields.media_type == PLAIN:
        return PlainTextResponse(translations[0].text)
    answer = await render_answer(wanted, translations)
    return Response(answer, media_type=JSON)


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
