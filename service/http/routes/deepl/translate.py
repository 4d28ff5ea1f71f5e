"""POST /v2/translate."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import Response

from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.routes.deepl.fields import TextRequest, deepl_source
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.results import TranslationResult

PATH = "/v2/translate"
router = APIRouter(include_in_schema=False)


@router.post(PATH)
async def translate(request: Request) -> Response:
    """Translate texts that are sent as JSON or as a form."""
    fields = await read_fields(request, server_state(request).limits, (JSON, FORM))
    asked = fields.parse(request, TextRequest)
    asked.require_offered()
    num_characters = sum(map(len, asked.texts))  # without the marks of ignored tags
    translations = await translate_texts(request, asked.wanted(), num_characters)
    answer = {"translations": [_rendered(asked, *one) for one in enumerate(translations)]}
    return Response(to_json(answer), media_type=JSON)


def _rendered(asked: TextRequest, index: int, translation: TranslationResult) -> dict[str, Any]:
    found = translation.detection
    code = found.language if found else asked.source
    rendered: dict[str, Any] = {
        "detected_source_language": deepl_source(code),
        "text": asked.ignored_tags.unmark(translation.text),
    }
    if asked.show_billed_characters:
        rendered["billed_characters"] = len(asked.texts[index])
    if asked.model_type_used:
        rendered["model_type_used"] = asked.model_type_used
    return rendered
