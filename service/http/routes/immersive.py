"""The custom API of the browser extension Immersive Translate.

It stands outside the OpenAPI document: its shapes are the extension's.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BeforeValidator, Field
from pydantic_core import to_json
from starlette.responses import Response

from model.text.languages import MAX_CODE_CHARACTERS
from service.http.request_body import JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.schemas import TranslateRequest, check_texts
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO
from service.translation.results import TranslationResult

PATH = "/immersive"
router = APIRouter(include_in_schema=False)
Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]


class ImmersiveRequest(RequestModel):
    """The paragraphs of a page; source_lang may be "auto"."""

    text_list: Annotated[str | list[str], BeforeValidator(check_texts)]
    target_lang: Code
    source_lang: Code = AUTO

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        texts = [self.text_list] if isinstance(self.text_list, str) else self.text_list
        source = self.source_lang or AUTO
        given = {"q": texts, "source": source, "target": self.target_lang, "format": "auto"}
        return TranslateRequest.from_json(given)


@router.post(PATH)
async def translate(request: Request) -> Response:
    """Translate the paragraphs of a page."""
    fields = await read_fields(request, server_state(request).limits, (JSON,))
    asked = fields.parse(request, ImmersiveRequest)
    translations = await translate_texts(request, asked.wanted())
    answer = {"translations": [_rendered(asked, one) for one in translations]}
    return Response(to_json(answer), media_type=JSON)


def _rendered(asked: ImmersiveRequest, translation: TranslationResult) -> dict[str, Any]:
    found = translation.detection
    source = found.language if found else asked.source_lang
    return {"detected_source_lang": source, "text": translation.text}
