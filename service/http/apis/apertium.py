"""GET /translate as Apertium's web service answers it, which OmegaT asks."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from service.errors import InvalidField, shown
from service.http.error_answers import APERTIUM
from service.http.openapi import READ, foreign_router
from service.http.request_fields import RequestModel
from service.http.requests import read_request
from service.http.schemas import TranslateRequest
from service.http.translating import translate_texts

_MAX_PAIR_CHARACTERS = 129
"""Two language codes and the bar between them."""
router = foreign_router()


class ApertiumRequest(RequestModel):
    """One text and its languages, as "en|de". No model marks unknown words."""

    quiet = ("key", "markUnknown")

    q: str
    langpair: str

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        source, bar, target = self.langpair.partition("|")
        if not (source and bar and target) or len(self.langpair) > _MAX_PAIR_CHARACTERS:
            raise InvalidField(f"langpair must be such as en|de, got {shown(self.langpair)}")
        given = {"q": self.q, "source": source, "target": target, "format": "auto"}
        return TranslateRequest.validated(given)


@router.api_route(APERTIUM, methods=[*READ])
async def translate_segment(request: Request) -> dict[str, Any]:
    """Translate one segment."""
    asked = await read_request(request, ApertiumRequest)
    (translation,) = await translate_texts(request, asked.wanted())
    text = {"translatedText": translation.text}
    return {"responseData": text, "responseDetails": None, "responseStatus": 200}
