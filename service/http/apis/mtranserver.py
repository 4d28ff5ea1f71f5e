"""MTranServer's API at /translate, which knows its JSON by the fields; XUnity.AutoTranslator's
custom endpoint gets the same fields, and a plain text."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from starlette.responses import PlainTextResponse

from service.errors import InvalidField, shown
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts

_NAMES = {"text": "q", "from": "source", "to": "target"}
"""Its fields, and ours."""


def is_mtranserver(values: Mapping[str, object]) -> bool:
    """Whether the fields of a request for /translate without `q` are MTranServer's."""
    return values.keys() >= _NAMES.keys()


async def answer_mtranserver(request: Request, values: Mapping[str, object]) -> dict[str, str]:
    return {"result": await _translate(request, values)}


async def answer_plainly(request: Request, values: Mapping[str, object]) -> PlainTextResponse:
    return PlainTextResponse(await _translate(request, values))


async def _translate(request: Request, values: Mapping[str, object]) -> str:
    """The translation of one text. Raises InvalidField."""
    if not isinstance(values["text"], str):
        raise InvalidField(f"text must be a string, got {shown(values['text'])}")
    given = {ours: values[its] for its, ours in _NAMES.items()}
    written = "html" if values.get("html") is True else "text"
    wanted = TranslateRequest.validated({**given, "format": written})
    (translation,) = await translate_texts(request, wanted)
    return translation.text
