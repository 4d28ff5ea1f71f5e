"""/translate and /listPairs as Apertium's web service answers them, which OmegaT and Weblate ask;
/translate knows its fields."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from service.errors import InvalidField, shown
from service.http.bodies import Strings
from service.http.error_answers import APERTIUM_PAIRS
from service.http.request_fields import RequestModel
from service.http.requests import RequestFields
from service.http.routers import READ, foreign_router
from service.http.state import server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts

_MAX_PAIR_CHARACTERS = 129
"""Two language codes and the bar between them."""
router = foreign_router()


class ApertiumRequest(RequestModel):
    """One text and its languages, as "en|de". No model marks unknown words."""

    unreported = ("key", "markUnknown", "format")

    q: str
    langpair: str

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        source, _, target = self.langpair.partition("|")
        if not (source and target) or len(self.langpair) > _MAX_PAIR_CHARACTERS:
            raise InvalidField(f"langpair must be such as en|de, got {shown(self.langpair)}")
        given = {"q": self.q, "source": source, "target": target, "format": "auto"}
        return TranslateRequest.validated(given)


def is_apertium_form(fields: Strings) -> bool:
    """Whether a form for /translate is Apertium's."""
    return "langpair" in fields


async def answer_apertium(request: Request, fields: RequestFields) -> dict[str, Any]:
    asked = fields.parse(request, ApertiumRequest)
    (translation,) = await translate_texts(request, asked.wanted())
    return _answer({"translatedText": translation.text})


@router.api_route(APERTIUM_PAIRS, methods=[*READ])
async def list_pairs(request: Request) -> dict[str, Any]:
    """All pairs of languages."""
    pairs = server_state(request).dispatcher.routes.pairs
    return _answer([{"sourceLanguage": one, "targetLanguage": other} for one, other in pairs])


def _answer(data: Any) -> dict[str, Any]:
    return {"responseData": data, "responseDetails": None, "responseStatus": 200}
