"""DeepLX's API: /v1/translate, and /translate, which knows its JSON by the fields. Its
/v2/translate is DeepL's."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Literal

from fastapi import Request

from service.http.bodies import FORM, JSON, PLAIN
from service.http.request_fields import LanguageCode, RequestModel
from service.http.requests import RequestFields, read_fields
from service.http.routers import foreign_router
from service.http.state import server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.translation.job import AUTO

PATH = "/v1/translate"
_NUM_ALTERNATIVES = 3
_ID_BELOW = 10**10
router = foreign_router()


class DeepLXRequest(RequestModel):
    """One text; source_lang may be "auto". The token, or `key`, is a key."""

    unreported = ("token", "key")

    text: str
    target_lang: LanguageCode
    source_lang: LanguageCode = AUTO
    tag_handling: Literal["html", "xml"] | None = None

    def wanted(self, max_beam_size: int) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        return TranslateRequest.validated(
            {
                "q": self.text,
                "source": self.source_lang.lower(),
                "target": self.target_lang,
                "format": "html" if self.tag_handling else "text",
                "alternatives": min(_NUM_ALTERNATIVES, max_beam_size - 1),
            }
        )


def is_deeplx(values: Mapping[str, object]) -> bool:
    """Whether a body for /translate without `q` is DeepLX's, whose own path that is too."""
    return {"text", "target_lang"} <= values.keys()


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


@router.post(PATH)
async def translate_deeplx(request: Request) -> dict[str, Any]:
    """Translate one text; three alternatives are given without being asked for."""
    fields = await read_fields(request, (JSON, FORM, PLAIN))
    return await answer_deeplx(request, fields)
