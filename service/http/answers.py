"""What POST /translate and the websocket answer: the records of translations, as they are."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, Required

from pydantic import TypeAdapter
from pydantic_core import to_json
from typing_extensions import TypedDict

from service.errors import ServiceError, printable
from service.http.request_log import RequestRecord
from service.http.translate_request import TranslateRequest
from service.translation.language.detection import DetectedLanguage
from service.translation.results import TextDetail, TextPiece, TranslationResult
from service.translation.study.inspection import MAX_PROBABILITIES
from service.translation.text_work import num_characters, text_work

RequestId = str | int


class TranslateResponse(TypedDict, total=False):
    """The answer. Members are lists if q is a list; members not requested are absent."""

    translatedText: Required[str | list[str]]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage]
    alternatives: list[str] | list[list[str]]
    details: list[TextDetail]


class FinalMessage(TranslateResponse):
    """The whole answer, as in POST /translate, at the end of a stream."""

    id: RequestId | None
    type: Literal["final"]


_ANSWER, _FINAL = TypeAdapter(TranslateResponse), TypeAdapter(FinalMessage)


async def render_answer(wanted: TranslateRequest, translations: list[TranslationResult]) -> bytes:
    """The answer of a request that is not streamed."""
    answer = _answer(wanted, translations)
    return await _rendered(_ANSWER, answer, wanted, translations)


async def render_piece(
    wanted: TranslateRequest,
    piece: TextPiece | list[TranslationResult],
    record: RequestRecord,
    request_id: RequestId | None = None,
) -> str:
    """The message for a piece or for the final answer, which `record` is told of."""
    record.has_delivered = True
    if isinstance(piece, TextPiece):
        return _render_token(wanted, piece, request_id)
    record.translations = piece
    message: FinalMessage = {**_answer(wanted, piece), "id": request_id, "type": "final"}
    return (await _rendered(_FINAL, message, wanted, piece)).decode()


def _answer(
    wanted: TranslateRequest, translations: Sequence[TranslationResult]
) -> TranslateResponse:
    is_list = isinstance(wanted.q, list)
    texts = [one.text for one in translations]
    answer: TranslateResponse = {"translatedText": texts if is_list else texts[0]}
    detected: list[DetectedLanguage] = [one for each in translations if (one := each.detection)]
    if detected:
        answer["detectedLanguage"] = detected if is_list else detected[0]
    if most := wanted.alternatives:
        others = [one.alternatives[:most] for one in translations]
        answer["alternatives"] = others if is_list else others[0]
    if wanted.details:
        answer["details"] = [*translations]
    return answer


def _render_token(wanted: TranslateRequest, piece: TextPiece, request_id: RequestId | None) -> str:
    """The next part of a translation. `index` is the text's position if q is a list, `segment` the
    sentence's. The parts of a text joined are its translatedText."""
    members: dict[str, object] = {"type": "token", "text": piece.text}
    if isinstance(wanted.q, list):
        members["index"] = piece.text_index
    return _message({**members, "segment": piece.sentence}, request_id)


def render_error(error: ServiceError, request_id: RequestId | None = None) -> str:
    """The error that ended a streamed request. `retry_after` is in seconds, for clients of a
    stream have no header."""
    members: dict[str, object] = {
        "type": "error",
        "error": printable(str(error)),
        "code": error.code,
    }
    if error.retry_after_seconds is not None:
        members["retry_after"] = error.retry_after_seconds
    if error.detected_language is not None:
        members["detectedLanguage"] = {"language": error.detected_language}
    return _message(members, request_id)


def _message(members: dict[str, object], request_id: RequestId | None) -> str:
    """With the id that a client of the websocket chose."""
    return to_json(members if request_id is None else {"id": request_id, **members}).decode()


async def _rendered(
    adapter: TypeAdapter[Any],
    answer: TranslateResponse,
    wanted: TranslateRequest,
    translations: Sequence[TranslationResult],
) -> bytes:
    """The answer as JSON. Only details take so long that a thread renders them."""
    render = functools.partial(adapter.dump_json, answer, by_alias=True, exclude_none=True)
    if not wanted.details:
        return render()
    if wanted.details in ("attention", "search"):
        return await text_work(MAX_PROBABILITIES, render)
    return await text_work(num_characters(one.text for one in translations), render)
