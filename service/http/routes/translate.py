"""POST /translate."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from starlette.responses import Response

from service.http.answers import TranslateResponse
from service.http.openapi import describe_errors
from service.http.request_body import (
    JSON,
    PLAIN,
    decode_text,
    media_type_of,
    parse_form,
    read_body,
)
from service.http.request_fields import FIELD_TYPES, RequestFields, read_fields
from service.http.schemas import TranslateRequest
from service.http.server_sent_events import EVENT_STREAM, event_stream, render_answer
from service.http.state import Limits, server_state
from service.http.translations import translate_texts

PATH = "/translate"
_MEDIA_TYPES = (*FIELD_TYPES, PLAIN)


def make_router(description: dict[str, Any]) -> APIRouter:
    """Make the route; `description` is its `openapi_extra`."""
    router = APIRouter()
    errors = describe_errors(400, 404, 413, 415, 422)
    router.add_api_route(
        PATH,
        translate,
        methods=["POST"],
        response_model=TranslateResponse,
        responses=errors,
        openapi_extra=description,
    )
    return router


async def translate(request: Request) -> Response:
    """Translate a text or a list of texts; answer when all sentences are translated.

    A text/plain body with ?source=&target= gets the translation as plain text. With
    `Accept: text/event-stream` the answer is a stream of events: token, then final or error.
    """
    state = server_state(request)
    limits = state.limits
    is_plain = media_type_of(request, _MEDIA_TYPES) == PLAIN
    if is_plain:
        fields = await _read_plain(request, limits)
    else:
        fields = await read_fields(request, limits)
    wanted = fields.parse(request, TranslateRequest)
    if EVENT_STREAM in request.headers.get("accept", ""):
        job = await state.admit(request.state.caller, wanted)
        return await event_stream(wanted, job, state, request.state.record)
    translations = await translate_texts(request, wanted)
    if is_plain:
        return PlainTextResponse(translations[0].text)
    answer = await render_answer(wanted, translations)
    return Response(answer, media_type=JSON)


async def _read_plain(request: Request, limits: Limits) -> RequestFields:
    """The body as q, and the other fields from the query. Raises a ServiceError."""
    query = parse_form(request.scope["query_string"], limits)
    body = (await read_body(request, limits.max_body_bytes)).removeprefix(BOM_UTF8)
    unused = query.keys() & {"q"}  # the body is the text
    return RequestFields(strings={**query, "q": decode_text(body)}, unused=unused)
