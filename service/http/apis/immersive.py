"""The custom API of the browser extension Immersive Translate."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from service.http.bodies import JSON
from service.http.request_fields import LanguageCode, RequestModel, Texts, listed
from service.http.requests import read_request
from service.http.routers import foreign_router
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.translation.job import AUTO

PATH = "/immersive"
router = foreign_router()


class ImmersiveRequest(RequestModel):
    """The paragraphs of a page; source_lang may be "auto"."""

    text_list: Texts
    target_lang: LanguageCode
    source_lang: LanguageCode = AUTO

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        texts, source = listed(self.text_list), self.source_lang
        given = {"q": texts, "source": source, "target": self.target_lang, "format": "auto"}
        return TranslateRequest.validated(given)


@router.post(PATH)
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
