"""Google's Cloud Translation API, Basic edition (v2), below /language/translate/v2.

It stands outside the OpenAPI document: its shapes are Google's, and docs/google.md describes what
becomes of each field.
"""

from __future__ import annotations

from typing import Any, Literal

from anyio import to_thread
from fastapi import Request

from service.http.error_answers import GOOGLE
from service.http.language_names import language_name
from service.http.request_fields import LanguageCode, RequestModel, Texts, listed
from service.http.requests import read_request
from service.http.routers import READ, foreign_router
from service.http.state import server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.translation.job import AUTO
from service.translation.results import TranslationResult

PATH = GOOGLE
DETECT, LANGUAGES = PATH + "/detect", PATH + "/languages"
_SYSTEM_PARAMETERS = ("key", "alt", "prettyPrint", "quotaUser", "access_token", "oauth_token")
router = foreign_router()


class GoogleTextRequest(RequestModel):
    """The fields of translating. Without a source it is detected."""

    unreported = _SYSTEM_PARAMETERS

    q: Texts
    target: LanguageCode
    source: LanguageCode | None = None
    format: Literal["text", "html"] | None = None
    model: str | None = None
    cid: Texts = ""

    def without_effect(self) -> list[str]:
        given = {"model": self.model, "cid": self.cid}
        return [name for name, value in given.items() if value]

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        source, written = self.source or AUTO, self.format or "auto"
        given = {"q": listed(self.q), "source": source, "target": self.target, "format": written}
        return TranslateRequest.validated(given)


class GoogleDetectRequest(RequestModel):
    """The texts whose languages are asked for."""

    unreported = _SYSTEM_PARAMETERS

    q: Texts


class GoogleLanguagesRequest(RequestModel):
    """`target`: the language of the names; without it there are none. A language that the server
    does not know stands for English."""

    unreported = _SYSTEM_PARAMETERS

    target: LanguageCode | None = None
    model: str | None = None

    def without_effect(self) -> list[str]:
        return ["model"] if self.model else []


@router.api_route(PATH, methods=[*READ, "POST"])
async def translate(request: Request) -> dict[str, Any]:
    """Translate one text or several."""
    asked = await read_request(request, GoogleTextRequest)
    translations = await translate_texts(request, asked.wanted())
    return {"data": {"translations": list(map(_rendered, translations))}}


@router.api_route(DETECT, methods=[*READ, "POST"])
async def detect(request: Request) -> dict[str, Any]:
    """The language of each text."""
    state = server_state(request)
    asked = await read_request(request, GoogleDetectRequest)
    texts = listed(asked.q)
    state.limits.check_texts("q", texts)
    detections = [
        [{"language": one.language, "isReliable": False, "confidence": one.confidence / 100}]
        for one in await state.dispatcher.detect(texts)
    ]
    return {"data": {"detections": detections}}


@router.api_route(LANGUAGES, methods=[*READ, "POST"])
async def languages(request: Request) -> dict[str, Any]:
    """The languages, with names if the request says in which language."""
    state = server_state(request)
    asked = await read_request(request, GoogleLanguagesRequest)
    codes = state.dispatcher.routes.languages
    if asked.target is None:
        return {"data": {"languages": [{"language": code} for code in codes]}}
    display = state.dispatcher.routes.known(asked.target) or "en"
    # Babel reads a file for every new language that names are given in
    names = await to_thread.run_sync(lambda: [_named(code, display) for code in codes])
    return {"data": {"languages": names}}


def _named(code: str, display_code: str) -> dict[str, str]:
    return {"language": code, "name": language_name(code, display_code)}


def _rendered(translation: TranslationResult) -> dict[str, Any]:
    rendered = {"translatedText": translation.text}
    if translation.detection:
        rendered["detectedSourceLanguage"] = translation.detection.language
    return rendered
