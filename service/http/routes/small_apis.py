"""DeepLX's API below /v1, and the custom API of the browser extension Immersive Translate.

DeepLX's /translate is LibreTranslate's here; its /v2/translate is DeepL's. Both APIs stand outside
the OpenAPI document: their shapes are not ours.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import Response

from service.http.bodies import FORM, JSON
from service.http.models import Code, RequestModel, Texts, listed
from service.http.requests import read_request
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO

DEEPLX, IMMERSIVE = "/v1/translate", "/immersive"
_NUM_ALTERNATIVES = 3
_ID_BELOW = 10**10
router = APIRouter(include_in_schema=False)


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


class ImmersiveRequest(RequestModel):
    """The paragraphs of a page; source_lang may be "auto"."""

    text_list: Texts
    target_lang: Code
    source_lang: Code = AUTO

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        texts, source = listed(self.text_list), self.source_lang or AUTO
        given = {"q": texts, "source": source, "target": self.target_lang, "format": "auto"}
        return TranslateRequest.from_json(given)


@router.post(DEEPLX)
async def translate_deeplx(request: Request) -> dict[str, Any]:
    """Translate one text; three alternatives are given without being asked for."""
    state = server_state(request)
    asked = await read_request(request, state.limits, DeepLXRequest, (JSON, FORM))
    wanted = asked.wanted(state.limits.max_beam_size)
    (translation,) = await translate_texts(request, state, wanted)
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


@router.post(IMMERSIVE)
async def translate_paragraphs(request: Request) -> Response:
    """Translate the paragraphs of a page."""
    state = server_state(request)
    asked = await read_request(request, state.limits, ImmersiveRequest, (JSON,))
    rendered = [
        {
            "detected_source_lang": one.detection.language if one.detection else asked.source_lang,
            "text": one.text,
        }
        for one in await translate_texts(request, state, asked.wanted())
    ]
    return Response(to_json({"translations": rendered}), media_type=JSON)
