"""DeepLX's API, and the custom API of the browser extension Immersive Translate.

DeepLX's path is /v1/translate, and /translate, which knows its JSON by the fields; its
/v2/translate is DeepL's. Both APIs stand outside the OpenAPI document: their shapes are not ours.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal

from fastapi import Request

from service.http.bodies import FORM, JSON
from service.http.models import Code, RequestModel, Texts, listed
from service.http.openapi import foreign_router
from service.http.requests import RequestFields, read_fields, read_request
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO

DEEPLX, IMMERSIVE = "/v1/translate", "/immersive"
_NUM_ALTERNATIVES = 3
_ID_BELOW = 10**10
router = foreign_router()


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


def is_deeplx(values: object) -> bool:
    """Whether a body for /translate is DeepLX's, whose own path that is too."""
    return isinstance(values, dict) and "q" not in values and {"text", "target_lang"} <= {*values}


async def answer_deeplx(request: Request, fields: RequestFields) -> dict[str, Any]:
    state, asked = server_state(request), fields.parse(request, DeepLXRequest)
    wanted = asked.wanted(state.limits.max_beam_size)
    (translation,) = await translate_texts(request, wanted)
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
    fields = await read_fields(request, (JSON, FORM))
    return await answer_deeplx(request, fields)


@router.post(IMMERSIVE)
async def translate_paragraphs(request: Request) -> dict[str, Any]:
    """Translate the paragraphs of a page."""
    asked = await read_request(request, ImmersiveRequest, (JSON,))
    rendered = [
        {
            "detected_source_lang": one.detection.language if one.detection else asked.source_lang,
            "text": one.text,
        }
        for one in await translate_texts(request, asked.wanted())
    ]
    return {"translations": rendered}
