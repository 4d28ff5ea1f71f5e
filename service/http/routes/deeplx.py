"""DeepLX's API below /v1. Its /translate is LibreTranslate's here; its /v2/translate is DeepL's.

It stands outside the OpenAPI document, as DeepL's API does.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from model.text.languages import MAX_CODE_CHARACTERS
from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO

PATH = "/v1/translate"
_NUM_ALTERNATIVES = 3
_ID_BELOW = 10**10
router = APIRouter(include_in_schema=False)
Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]


class DeepLXRequest(RequestModel):
    """One text; source_lang may be "auto" or empty."""

    text: str
    target_lang: Code
    source_lang: Code = AUTO
    tag_handling: Literal["html", "xml", ""] = ""

    def wanted(self, max_beam_size: int) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        return TranslateRequest.from_json(
            {
                "q": self.text,
                "source": self.source_lang.lower() or AUTO,
                "target": self.target_lang,
                "format": "html" if self.tag_handling else "text",
                "alternatives": min(_NUM_ALTERNATIVES, max_beam_size - 1),
            }
        )


@router.post(PATH)
async def translate(request: Request) -> dict[str, Any]:
    """Translate one text; three alternatives are given without being asked for."""
    limits = server_state(request).limits
    fields = await read_fields(request, limits, (JSON, FORM))
    asked = fields.parse(request, DeepLXRequest)
    (translation,) = await translate_texts(request, asked.wanted(limits.max_beam_size))
    found = translation.detection
    return {
        "code": 200,
        "id": secrets.randbelow(_ID_BELOW),
        "data": translation.text,
        "alternatives": list(translation.alternatives[:_NUM_ALTERNATIVES]),
        "source_lang": (found.language if found else asked.source_lang).upper(),
        "target_lang": asked.target_lang.upper(),
        "method": "Free",
    }
