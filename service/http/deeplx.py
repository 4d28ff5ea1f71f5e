"""DeepLX's request and answer, at its own path and at /translate, which it shares."""

from __future__ import annotations

import secrets
from typing import Literal

from fastapi import Request
from pydantic_core import to_json
from starlette.responses import Response

from service.http.bodies import JSON
from service.http.models import Code, RequestModel
from service.http.requests import RequestFields
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts
from service.translation.job import AUTO

_NUM_ALTERNATIVES = 3
_ID_BELOW = 10**10


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


async def answer_deeplx(request: Request, fields: RequestFields) -> Response:
    state, asked = server_state(request), fields.parse(request, DeepLXRequest)
    wanted = asked.wanted(state.limits.max_beam_size)
    (translation,) = await translate_texts(request, state, wanted)
    found = translation.detection
    answer = {
        "code": 200,
        "id": secrets.randbelow(_ID_BELOW),
        "data": translation.text,
        "alternatives": list(translation.alternatives[:_NUM_ALTERNATIVES]),
        "source_lang": (found.language if found else asked.source_lang).upper(),
        "target_lang": asked.target_lang.upper(),
        "method": "Free",
    }
    return Response(to_json(answer), media_type=JSON)
