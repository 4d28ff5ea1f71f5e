"""POST /translate/next: the likeliest next words after the beginning of a translation."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from service.http.models import Code, RequestModel
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    WITH_ENGINE,
    Offer,
    describe_body,
    describe_errors,
)
from service.http.requests import read_request
from service.http.routing import described_router
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import until_disconnected
from service.translation.next_words import MAX_WORDS

PATH = "/translate/next"
_EXAMPLE = {"q": "The house is big.", "source": "en", "target": "de", "prefix": "Das", "k": 3}


class NextWordsRequest(RequestModel):
    """A text, the beginning of its translation, and how many words to give."""

    quiet = ("api_key", "secret")

    q: str
    source: Code
    target: Code
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


def make_router(offer: Offer) -> APIRouter:
    """Make the route, whose description names what the server offers."""
    router = described_router("Translation", *WITH_ACCESS, *WITH_ENGINE)
    router.add_api_route(
        PATH,
        next_words,
        methods=["POST"],
        response_model=NextWordsAnswer,
        responses=describe_errors(*WITH_BODY),
        openapi_extra=describe_body(NextWordsRequest, offer, _EXAMPLE),
    )
    return router


async def next_words(request: Request) -> NextWordsAnswer:
    """The likeliest next words of a translation that begins with `prefix`."""
    state = server_state(request)
    asked = await read_request(request, NextWordsRequest)
    state.limits.check_length("q", [asked.q])
    state.limits.check_length("prefix", [asked.prefix])
    given = {"q": asked.q, "source": asked.source, "target": asked.target}
    wanted = TranslateRequest.from_json(given)
    job = await state.admit(request.state.caller, wanted, weight=asked.k)
    work = state.dispatcher.next_words(job, asked.prefix, asked.k)
    found = await until_disconnected(request, work)
    answers = [NextWordAnswer(**word._asdict()) for word in found.words]
    return NextWordsAnswer(words=answers, end=found.end, sentence=found.sentence)
