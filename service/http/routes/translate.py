"""POST /translate."""

from __future__ import annotations

import itertools
from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from starlette.responses import Response

from service.http.ignored_fields import report_ignored
from service.http.openapi import describe_errors
from service.http.request_body import (
    JSON,
    PLAIN,
    decode_text,
    media_type_of,
    parse_form,
    parse_json,
    read_body,
    until_disconnected,
)
from service.http.schemas import TranslateRequest, TranslateResponse
from service.http.server_sent_events import EVENT_STREAM, event_stream, render_answer
from service.http.state import Limits, server_state

PATH = "/translate"


def make_router(description: dict[str, Any]) -> APIRouter:
    """Make the route; `description` is its `openapi_extra`."""
    router = APIRouter()
    errors = describe_errors(400, 408, 413, 415, 422, 431, 500, 502, 503, 504)
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
    media_type = media_type_of(request)
    body = (await read_body(request, state.limits.max_body_bytes)).removeprefix(BOM_UTF8)
    wanted = _parse_request(request, media_type, body, state.limits)
    job = state.job(wanted)
    if EVENT_STREAM in request.headers.get("accept", ""):
        return await event_stream(wanted, job, state, request.state.record)
    translations = await until_disconnected(request, state.dispatcher.translate(job))
    request.state.record.translations = translations
    if media_type == PLAIN:
        return PlainTextResponse(translations[0].text)
    answer = await render_answer(wanted, translations, state.text_pool)
    return Response(answer, media_type=JSON)


def _parse_request(
    request: Request, media_type: str, body: bytes, limits: Limits
) -> TranslateRequest:
    """Parse the body, and for plain text also the query string. Raises a ServiceError.

    Unknown fields are reported before known fields are checked.
    """
    query = parse_form(request.scope["query_string"], limits)
    if media_type == JSON:
        values = parse_json(body, limits)
        report_ignored(request, itertools.chain(TranslateRequest.unknown_fields(values), query))
        return TranslateRequest.from_json(values)
    if media_type == PLAIN:
        unused: Iterable[str] = query.keys() & {"q"}  # the body is the text
        form = {**query, "q": decode_text(body)}
    else:
        form, unused = parse_form(body, limits), query
    report_ignored(request, itertools.chain(TranslateRequest.unknown_fields(form), unused))
    return TranslateRequest.from_strings(form)
