"""DeepLX's API below /v1, and the custom API of the browser extension Immersive Translate.

DeepLX's /translate is LibreTranslate's here, which knows DeepLX's JSON by its fields; its
/v2/translate is DeepL's. Both APIs stand outside
the OpenAPI document: their shapes are not ours.
"""

from __future__ import annotations

from fastapi import Request
from pydantic_core import to_json
from starlette.responses import Response

from service.http.bodies import FORM, JSON
from service.http.deeplx import answer_deeplx
from service.http.models import Code, RequestModel, Texts, listed
from service.http.requests import read_fields, read_request
from service.http.routing import foreign_router
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO

DEEPLX, IMMERSIVE = "/v1/translate", "/immersive"
router = foreign_router()


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
async def translate_deeplx(request: Request) -> Response:
    """Translate one text; three alternatives are given without being asked for."""
    fields = await read_fields(request, server_state(request).limits, (JSON, FORM))
    return await answer_deeplx(request, fields)


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
