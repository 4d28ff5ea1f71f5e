"""The API of OPUS-CAT MT Engine, which its plugins for CAT tools ask.

A plugin that puts the tags of its segment back needs the alignment of the answer, by pieces of the
source and of the translation.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from fastapi import Request
from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from service.errors import UnsupportedLanguage
from service.http.bodies import FORM, JSON, NO_BODY, parse_form
from service.http.error_answers import OPUS_CAT
from service.http.request_fields import LanguageCode, RequestModel
from service.http.requests import RequestFields, read_request
from service.http.routers import READ, foreign_router
from service.http.state import server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.translation.job import AUTO
from service.translation.results import TranslationResult
from service.translation.text_work import text_work

_JSON = f"{JSON}; charset=utf-8"
"""OmegaT's plugin takes an answer without a charset for Latin-1."""
_TRANSLATE = ("TranslateJson", "TranslatePost")
_TEXT = ("Translate", "TranslateStream")
_SPACE = "▁"
_SENTENCEPIECE = 1
_Pair = tuple[int, int]
_NO_TAG = ("", '""')
"""memoQ's plugin sends two quotes."""
WORK = frozenset(prefix + name for prefix in OPUS_CAT for name in (*_TRANSLATE, *_TEXT))
router = foreign_router()


class OpusCatRequest(RequestModel):
    """One segment and its languages; srcLangCode may be absent. No model has a tag."""

    unreported = ("tokenCode", "inputIsSingleSentence")

    input: str
    trgLangCode: LanguageCode
    srcLangCode: LanguageCode = AUTO
    modelTag: str = ""

    def without_effect(self) -> list[str]:
        return [] if self.modelTag in _NO_TAG else ["modelTag"]

    def wanted(self, *, details: bool = False) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        given = {"q": self.input, "source": self.srcLangCode, "target": self.trgLangCode}
        return TranslateRequest.validated({**given, "format": "auto", "details": details})


class StatusRequest(RequestModel):
    """The languages whose models are asked for."""

    unreported = ("tokenCode", "modelTag")

    srcLangCode: LanguageCode = ""
    trgLangCode: LanguageCode = ""


async def translate_segment(request: Request) -> Response:
    """The translation of a segment, with its alignment."""
    asked = await _read(request)
    (translation,) = await translate_texts(request, asked.wanted(details=True))
    text = translation.text
    align = functools.partial(_alignment, asked.input, translation)
    alignment = await text_work(len(asked.input) + len(text), align)
    answer = {"translation": text, "Translation": text, **alignment}
    return Response(to_json(answer), media_type=_JSON)


async def translate_text(request: Request) -> Response:
    """The translation of a segment, as a string in JSON; TranslateStream's is plain text."""
    asked = await _read(request)
    (translation,) = await translate_texts(request, asked.wanted())
    if request.scope["path"].endswith("Stream"):
        return PlainTextResponse(translation.text)
    return Response(to_json(translation.text), media_type=_JSON)


async def language_pairs(request: Request) -> list[str]:
    """All pairs, such as en-de."""
    pairs = server_state(request).dispatcher.routes.pairs
    return [f"{source}-{target}" for source, target in pairs]


async def model_tags(_: Request) -> list[str]:
    """None: tags name models that an OPUS-CAT MT Engine was made to adapt."""
    return []


async def model_status(request: Request) -> str:
    """The models of a pair, or why there is none, which the plugin for Trados shows."""
    asked = _query(request).parse(request, StatusRequest)
    source, target = asked.srcLangCode, asked.trgLangCode
    try:
        route = server_state(request).dispatcher.route(source, target)
    except UnsupportedLanguage as error:
        return str(error)
    return f"{source}-{target}: {', '.join(hop.model.name for hop in route)}"


async def order_batch(_: Request) -> None:
    """Accept the segments of a document, which the plugin then asks for one by one."""


async def _read(request: Request) -> OpusCatRequest:
    """The fields of a form, else of the query, whatever the body is said to be: Wordfast posts
    none."""
    if request.headers.get("content-type", "").startswith(FORM):
        return await read_request(request, OpusCatRequest, (FORM,))
    await request.state.caller.identify(None)
    return _query(request).parse(request, OpusCatRequest)


def _query(request: Request) -> RequestFields:
    fields = parse_form(request.scope["query_string"], server_state(request).limits)
    return RequestFields(NO_BODY, strings=fields)


def _alignment(source: str, translation: TranslationResult) -> dict[str, Any]:
    """Both texts in pieces, each from one aligned word to the next, and the pairs of pieces."""
    text = translation.text
    links = list(_links(source, translation))
    source_cuts = _cuts(source, (start for start, _ in links))
    target_cuts = _cuts(text, (start for _, start in links))
    pairs = sorted({(_piece(source_cuts, a), _piece(target_cuts, b)) for a, b in links} or {(0, 0)})
    pieces = _pieces(text, target_cuts)
    return {
        "SegmentedSourceSentence": _pieces(source, source_cuts),
        "SegmentedTranslation": pieces,
        "SegmentedAlignmentSourceToTarget": _grouped(pairs),
        "SegmentedAlignmentTargetToSource": _grouped((b, a) for a, b in pairs),
        "AlignmentString": " ".join(f"{a}-{b}" for a, b in pairs),
        "RawTranslation": " ".join(pieces),
        "Segmentation": _SENTENCEPIECE,
    }


def _links(source: str, translation: TranslationResult) -> Iterator[_Pair]:
    """Where aligned words start in the source and in the translation, of the sentences before one
    that stands in a pivot language or has tags."""
    at_source = at_target = 0
    for sentence in translation.sentences:
        at_source = source.find(sentence.source, at_source)
        at_target = translation.text.find(sentence.target, at_target)
        if at_source < 0 or at_target < 0:
            return
        for link in sentence.alignment:
            yield at_source + link.source_start, at_target + link.target_start
        at_source += len(sentence.source)
        at_target += len(sentence.target)


def _cuts(text: str, starts: Iterable[int]) -> list[int]:
    """Where pieces begin: at these words, with the spaces before them."""
    found = {0}
    for start in starts:
        while start and text[start - 1] == " ":
            start -= 1
        found.add(start)
    return sorted(found)


def _piece(cuts: Sequence[int], start: int) -> int:
    return bisect_right(cuts, start) - 1


def _pieces(text: str, cuts: Sequence[int]) -> list[str]:
    ends = pairwise([*cuts, len(text)])
    return [text[start:end].replace(" ", _SPACE) for start, end in ends]


def _grouped(pairs: Iterable[_Pair]) -> dict[int, list[int]]:
    grouped: dict[int, list[int]] = {}
    for one, other in pairs:
        grouped.setdefault(one, []).append(other)
    return grouped


for _prefix in OPUS_CAT:
    for _name in _TRANSLATE:
        router.add_api_route(_prefix + _name, translate_segment, methods=[*READ, "POST"])
    for _name in _TEXT:
        router.add_api_route(_prefix + _name, translate_text, methods=[*READ, "POST"])
    router.add_api_route(_prefix + "ListSupportedLanguagePairs", language_pairs, methods=[*READ])
    router.add_api_route(_prefix + "GetLanguagePairModelTags", model_tags, methods=[*READ])
    router.add_api_route(_prefix + "CheckModelStatus", model_status, methods=[*READ])
    router.add_api_route(_prefix + "PreOrderBatch", order_batch, methods=["POST"])
