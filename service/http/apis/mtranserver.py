"""MTranServer's API at /translate, which knows its JSON by the fields, and /translate/batch. KISS
Translator's custom API and XUnity.AutoTranslator's endpoint get the same fields; the latter a plain
text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.responses import PlainTextResponse

from service.errors import InvalidField, MissingField, shown
from service.http.bodies import FORM, JSON, PLAIN
from service.http.requests import read_fields
from service.http.routers import foreign_router
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.translation.results import TranslationResult

BATCH = "/translate/batch"
_TEXT, _TEXTS = "text", "texts"
_LANGUAGES = {"from": "source", "to": "target"}
"""Its fields, and ours."""
router = foreign_router()


def is_mtranserver(values: Mapping[str, object]) -> bool:
    """Whether the fields of a request for /translate without `q` are MTranServer's."""
    return values.keys() >= _LANGUAGES.keys() and not values.keys().isdisjoint((_TEXT, _TEXTS))


@router.post(BATCH)
async def translate_batch(request: Request) -> dict[str, Any]:
    """Translate several texts."""
    sent = (await read_fields(request, (JSON, FORM, PLAIN))).json
    return await answer_mtranserver(
        request, {_TEXTS: None, **(sent if isinstance(sent, dict) else {})}
    )


async def answer_mtranserver(request: Request, values: Mapping[str, object]) -> dict[str, Any]:
    """`text` and `src`, or `translations`, are what KISS Translator reads."""
    is_list = _TEXTS in values
    translations = await _translate(request, values, _TEXTS if is_list else _TEXT)
    rendered = [
        {"text": one.text, "src": one.detection.language if one.detection else values["from"]}
        for one in translations
    ]
    texts = [one.text for one in translations]
    if is_list:
        return {"results": texts, "translations": rendered}
    return {"result": texts[0], **rendered[0]}


async def answer_plainly(request: Request, values: Mapping[str, object]) -> PlainTextResponse:
    (translation,) = await _translate(request, values, _TEXT)
    return PlainTextResponse(translation.text)


async def _translate(
    request: Request, values: Mapping[str, object], name: str
) -> list[TranslationResult]:
    """The translations of the field `name`: a text, or a list of them. Raises a ServiceError."""
    is_list = name == _TEXTS
    if absent := {*_LANGUAGES, name} - values.keys():
        raise MissingField(f"Invalid request: missing {min(absent)} parameter")
    if not isinstance(sent := values[name], list if is_list else str):
        what = "a list of strings" if is_list else "a string"
        raise InvalidField(f"{name} must be {what}, got {shown(sent)}")
    given = {ours: values[its] for its, ours in _LANGUAGES.items()}
    written = "html" if values.get("html") is True else "text"
    wanted = TranslateRequest.validated({**given, "q": sent, "format": written})
    return await translate_texts(request, wanted)
