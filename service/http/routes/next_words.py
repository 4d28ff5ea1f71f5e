"""POST /translate/next: the likeliest next words after the beginning of a translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from model.text.languages import MAX_CODE_CHARACTERS
from service.http.openapi import describe_errors
from service.http.request_body import FORM, JSON, until_disconnected
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.state import Limits, check_length, server_state
from service.translation.job import AUTO, TranslationJob
from service.translation.next_words import MAX_WORDS

PATH = "/translate/next"
_KEYS = ("api_key", "secret")
_EXAMPLE = {"q": "The house is big.", "source": "en", "target": "de", "prefix": "Das", "k": 3}


class NextWordsRequest(RequestModel):
    """A text, the beginning of its translation, and how many words to give."""

    q: str
    source: str = Field(max_length=MAX_CODE_CHARACTERS)
    target: str = Field(max_length=MAX_CODE_CHARACTERS)
    prefix: str = ""
    k: int = Field(5, ge=1, le=MAX_WORDS)


class NextWordAnswer(BaseModel):
    """`text` as it is appended to the prefix, its probability, and the best translation with it."""

    text: str
    probability: float
    translation: str


class NextWordsAnswer(BaseModel):
    """The likeliest words first; `end`: the probability that the sentence ends after the prefix;
    `sentence`: the number, from 0, of the sentence of q that the prefix has reached."""

    words: list[NextWordAnswer]
    end: float
    sentence: int


def make_router(limits: Limits, languages: Sequence[str]) -> APIRouter:
    """Make the route; the limits and languages are those that its description names."""
    router = APIRouter()
    router.add_api_route(
        PATH,
        next_words,
        methods=["POST"],
        response_model=NextWordsAnswer,
        responses=describe_errors(400, 413, 415, 422),
        openapi_extra=_describe(limits, languages),
    )
    return router


async def next_words(request: Request) -> NextWordsAnswer:
    """The likeliest next words of a translation that begins with `prefix`."""
    state = server_state(request)
    fields = await read_fields(request, state.limits)
    wanted = fields.parse(request, NextWordsRequest, quiet=_KEYS)
    check_length("q", [wanted.q], state.limits)
    check_length("prefix", [wanted.prefix], state.limits)
    await request.state.caller.charge(len(wanted.q), weight=wanted.k)
    job = TranslationJob(
        [wanted.q], wanted.source, wanted.target, deadline_seconds=state.limits.deadline_seconds
    )
    found = await until_disconnected(
        request, state.dispatcher.next_words(job, wanted.prefix, wanted.k)
    )
    answers = [NextWordAnswer(**word._asdict()) for word in found.words]
    return NextWordsAnswer(words=answers, end=found.end, sentence=found.sentence)


def _describe(limits: Limits, languages: Sequence[str]) -> dict[str, Any]:
    text = {"type": "string", "maxLength": limits.max_characters}
    source = {"type": "string", "enum": [AUTO, *languages]}
    target = {"type": "string", "enum": list(languages)}
    count = {"type": "integer", "minimum": 1, "maximum": MAX_WORDS, "default": 5}
    required = {"q": text, "source": source, "target": target}
    optional: dict[str, Any] = {"prefix": text, "k": count}
    with_null = {name: {"anyOf": [one, {"type": "null"}]} for name, one in optional.items()}
    content = {
        kind: {
            "schema": {
                "type": "object",
                "required": list(required),
                "properties": required | fields,
            },
            "example": _EXAMPLE,
        }
        for kind, fields in ((JSON, with_null), (FORM, optional))
    }
    return {"requestBody": {"required": True, "content": content}}
