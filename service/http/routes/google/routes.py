"""Translating, detecting and listing languages in Google's format."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import Response

from service.http.languages import language_name
from service.http.request_body import JSON
from service.http.routes.google.fields import (
    DetectRequest,
    LanguagesRequest,
    TextRequest,
    read_request,
)
from service.http.state import check_texts, server_state
from service.http.translations import translate_texts
from service.translation.results import TranslationResult

PATH = "/language/translate/v2"
DETECT, LANGUAGES = PATH + "/detect", PATH + "/languages"
"""Babel reads a file for every new language that names are given in."""
router = APIRouter(include_in_schema=False)


@router.get(PATH)
@router.head(PATH)
@router.post(PATH)
async def translate(request: Request) -> Response:
    """Translate one text or several."""
    asked = await read_request(request, TextRequest)
    translations = await translate_texts(request, asked.wanted())
    return _data({"translations": [_rendered(translation) for translation in translations]})


@router.get(DETECT)
@router.head(DETECT)
@router.post(DETECT)
async def detect(request: Request) -> Response:
    """The language of each text."""
    asked = await read_request(request, DetectRequest)
    state = server_state(request)
    check_texts("q", asked.texts, state.limits)
    found = await state.dispatcher.detect(asked.texts)
    detections = [
        [{"language": one.language, "isReliable": False, "confidence": one.confidence / 100}]
        for one in found
    ]
    return _data({"detections": detections})


@router.get(LANGUAGES)
@router.head(LANGUAGES)
@router.post(LANGUAGES)
async def languages(request: Request) -> Response:
    """The languages, with names if the request says in which language."""
    asked = await read_request(request, LanguagesRequest)
    state = server_state(request)
    codes = state.dispatcher.languages
    if asked.target is None:
        return _data({"languages": [{"language": code} for code in codes]})
    display = asked.target if asked.target in codes else "en"
    names = await to_thread.run_sync(lambda: [_named(c, display) for c in codes])
    return _data({"languages": names})


def _named(code: str, display_code: str) -> dict[str, str]:
    return {"language": code, "name": language_name(code, display_code)}


def _rendered(translation: TranslationResult) -> dict[str, Any]:
    rendered = {"translatedText": translation.text}
    if translation.detection:
        rendered["detectedSourceLanguage"] = translation.detection.language
    return rendered


def _data(content: dict[str, Any]) -> Response:
    return Response(to_json({"data": content}), media_type=JSON)
