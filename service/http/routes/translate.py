"""POST /translate, answered at once or as server-sent events: token, token, ..., final or error;
and POST /translate/next, the likeliest next words after the beginning of a translation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.sse import format_sse_event
from pydantic import Field
from starlette.responses import PlainTextResponse, Response

from service.errors import MissingField
from service.http.accept import accepted
from service.http.answers import TranslateResponse, render_answer, render_error, render_piece
from service.http.apis.apertium import answer_apertium, is_apertium_form
from service.http.apis.deeplx import answer_deeplx, is_deeplx
from service.http.apis.mtranserver import answer_mtranserver, answer_plainly, is_mtranserver
from service.http.bodies import JSON, PLAIN
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    WITH_ENGINE,
    Offer,
    describe_body,
    describe_errors,
)
from service.http.request_fields import LanguageCode, RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import FIELD_TYPES, IGNORED_FIELDS_HEADER, read_fields, read_request
from service.http.routers import READ, described_router, foreign_router
from service.http.state import server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import (
    EVENT_STREAM,
    event_stream,
    stream_error,
    translate_texts,
    until_disconnected,
)
from service.translation.results import TextPiece
from service.translation.study.next_words import MAX_WORDS, NextWords
from service.translation.translator import Pieces

PATH, NEXT_WORDS = "/translate", "/translate/next"
_NEXT_CHARACTERS = 20
"""Characters whose translation is as much work as a next word of a short text."""
_EXAMPLE = {"q": "图书馆在哪里？", "source": "zh", "target": "en"}
_NEXT_EXAMPLE = {"q": "The house is big.", "source": "en", "target": "de", "prefix": "Das", "k": 3}
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

queried = foreign_router()
"""GET /translate, which is of others' APIs alone."""


class NextWordsRequest(RequestModel):
    """A text, the beginning of its translation, and how many words to give."""

    unreported = ("secret",)

    q: str
    source: LanguageCode
    target: LanguageCode
    prefix: str = ""
    k: int = Field(5, ge=1, le=MAX_WORDS)


def make_router(offer: Offer) -> APIRouter:
    """Make the routes, whose descriptions name what the server offers."""
    router = described_router("Translation", *WITH_ACCESS, *WITH_ENGINE)
    router.add_api_route(
        PATH,
        translate,
        methods=["POST"],
        response_model=TranslateResponse,
        responses=describe_errors(404, *WITH_BODY),
        openapi_extra=_describe(offer),
    )
    router.add_api_route(
        NEXT_WORDS,
        next_words,
        methods=["POST"],
        name="translate_next",
        response_model=NextWords,
        responses=describe_errors(*WITH_BODY),
        openapi_extra=describe_body(NextWordsRequest, offer, _NEXT_EXAMPLE),
    )
    return router


@queried.api_route(PATH, methods=[*READ])
async def translate_queried(request: Request) -> Any:
    """Answer what clients of others' APIs ask. Raises MissingField with a hint for the fields of
    POST."""
    if "target" in request.query_params and "langpair" not in request.query_params:
        raise MissingField("GET needs langpair, such as en|de; source and target are for POST")
    fields = await read_fields(request)
    if fields.strings and is_mtranserver(fields.strings):
        return await answer_plainly(request, fields.strings)
    return await answer_apertium(request, fields)


async def translate(request: Request) -> Any:
    """Translate a text or a list of texts; answer when all sentences are translated.

    The fields may also come as a form, or in the query. A text/plain body with ?source=&target=
    gets the translation as plain text. With `Accept: text/event-stream` the answer is a stream of
    events: token, then final or error.
    """
    state = server_state(request)
    fields = await read_fields(request, (*FIELD_TYPES, PLAIN))
    sent = fields.json
    if isinstance(sent, dict) and "q" not in sent:
        if is_deeplx(sent):
            return await answer_deeplx(request, fields)
        if is_mtranserver(sent):
            return await answer_mtranserver(request, sent)
    if fields.strings and is_apertium_form(fields.strings):
        return await answer_apertium(request, fields)
    wanted = fields.parse(request, TranslateRequest)
    is_named = EVENT_STREAM in request.headers.get("accept", "").lower()
    if is_named and accepted(request, (JSON, EVENT_STREAM)) == EVENT_STREAM:
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
    try:
        async for piece in pieces:
            kind = "token" if isinstance(piece, TextPiece) else "final"
            message = await render_piece(wanted, piece, record)
            yield format_sse_event(data_str=message, event=kind)
    except Exception as failure:
        error = stream_error(failure, record)
        yield format_sse_event(data_str=render_error(error), event="error")


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


async def next_words(request: Request) -> NextWords:
    """The likeliest next words of a translation that begins with `prefix`."""
    state = server_state(request)
    asked = await read_request(request, NextWordsRequest)
    state.limits.check_length("q", [asked.q])
    state.limits.check_length("prefix", [asked.prefix])
    given = {"q": asked.q, "source": asked.source, "target": asked.target}
    wanted = TranslateRequest.validated(given)
    num_weighted = (len(asked.q) + len(asked.prefix) + _NEXT_CHARACTERS) * asked.k
    job = await state.admit(request.state.caller, wanted, num_weighted=num_weighted)
    work = state.dispatcher.next_words(job, asked.prefix, asked.k)
    return await until_disconnected(request, work)
