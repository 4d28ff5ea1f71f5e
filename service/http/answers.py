"""What POST /translate and the websocket answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict

from service.errors import ServiceError, printable
from service.http.request_log import RequestRecord
from service.http.schemas import TranslateRequest
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Kind
from service.translation.confidence import WordConfidence
from service.translation.results import (
    Attention,
    PivotTranslation,
    SearchDetail,
    SentenceResult,
    TextPiece,
    TranslationResult,
)
from service.translation.study.inspection import MAX_ENTRIES
from service.translation.text_work import num_characters, text_work

RequestId = str | int


class _Answer(BaseModel):
    """An answer, or a part of one, that is read from the attributes of a result."""

    model_config = ConfigDict(from_attributes=True)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


_Milliseconds = Annotated[float, BeforeValidator(_milliseconds)]


class DetectedLanguage(_Answer):
    """The detected language of a text; confidence is 0 to 100."""

    language: str
    confidence: float


class Milliseconds(_Answer):
    """Times of a sentence: waiting for a slot, in the encoder, in the decoder."""

    queue: _Milliseconds
    encode: _Milliseconds
    decode: _Milliseconds


class CheckDetail(_Answer):
    """Something that differs between a sentence and its translation: what only the source has, and
    what only the translation has."""

    kind: Kind
    source: list[str]
    target: list[str]
    message: str


class SentenceDetail(BaseModel):
    """One sentence. log_probs has one entry per token and one for the end of the sentence. Other
    sentences in the batch may change them (by less than 0.0001 on a CPU), but not the tokens.

    alignment lists which words translate each other: [source_start, source_end, target_start,
    target_end, weight], offsets in code points of source and target, weight 0 to 1. confidence is
    the probability that the sentence is right, words lists [target_start, target_end, confidence];
    both are absent if the model was not calibrated for the pair. checks lists what is likely a
    mistake.
    """

    source: str
    target: str
    tokens: list[str]
    log_probs: list[float]
    score: float
    finish_reason: str
    times_ms: Milliseconds
    alignment: list[AlignmentLink]
    confidence: float | None = None
    words: list[WordConfidence] | None = None
    checks: list[CheckDetail]
    attention: Attention | None = None
    search: SearchDetail | None = None

    @classmethod
    def of(cls, sentence: SentenceResult) -> Self:
        confidence, best = sentence.confidence, sentence.best
        return cls(
            source=sentence.source,
            target=sentence.target,
            tokens=list(sentence.tokens),
            log_probs=best.log_probs,
            score=best.score,
            finish_reason=best.finish_reason,
            times_ms=Milliseconds.model_validate(sentence.times),
            alignment=list(sentence.alignment or ()),
            confidence=confidence.sentence if confidence else None,
            words=list(confidence.words) if confidence else None,
            checks=_check_details([sentence]),
            attention=sentence.attention,
            search=sentence.search,
        )


def _check_details(sentences: Iterable[SentenceResult]) -> list[CheckDetail]:
    return [CheckDetail.model_validate(check) for one in sentences for check in one.checks]


class Pivot(BaseModel):
    """The intermediate translation of a text, the model that made it, and what its checks found."""

    language: str
    text: str
    model: str
    checks: list[CheckDetail]

    @classmethod
    def of(cls, pivot: PivotTranslation) -> Self:
        checks = _check_details(pivot.sentences)
        return cls(language=pivot.language, text=pivot.text, model=pivot.model, checks=checks)


class TextDetail(BaseModel):
    """One text: the model and sentences of its last hop, and `pivot` for the first of two
    hops."""

    model: str
    pivot: Pivot | None = None
    sentences: list[SentenceDetail]

    @classmethod
    def of(cls, translation: TranslationResult) -> Self:
        pivot = Pivot.of(translation.pivot) if translation.pivot else None
        sentences = [SentenceDetail.of(sentence) for sentence in translation.sentences]
        return cls(model=translation.model, pivot=pivot, sentences=sentences)


class TranslateResponse(BaseModel):
    """The answer. Members are lists if q is a list; members not requested are absent."""

    translatedText: str | list[str]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None
    alternatives: list[str] | list[list[str]] | None = None
    details: list[TextDetail] | None = None

    @classmethod
    def of(cls, request: TranslateRequest, translations: Sequence[TranslationResult]) -> Self:
        is_list = isinstance(request.q, list)
        texts = [one.text for one in translations]
        more = [list(one.alternatives[: request.alternatives]) for one in translations]
        detected = [
            DetectedLanguage.model_validate(one.detection) for one in translations if one.detection
        ]
        return cls(
            translatedText=texts if is_list else texts[0],
            detectedLanguage=(detected if is_list else detected[0]) if detected else None,
            alternatives=(more if is_list else more[0]) if request.alternatives else None,
            details=[TextDetail.of(one) for one in translations] if request.details else None,
        )


class TokenMessage(BaseModel):
    """The next part of a translation. `index` is the text's position if q is a list, `segment` the
    sentence's. The parts of a text joined are its translatedText."""

    id: RequestId | None = None
    type: Literal["token"] = "token"
    text: str
    index: int | None = None
    segment: int | None = None

    @classmethod
    def of(cls, request: TranslateRequest, piece: TextPiece, request_id: RequestId | None) -> Self:
        index = piece.text_index if isinstance(request.q, list) else None
        return cls(id=request_id, text=piece.text, index=index, segment=piece.sentence)


class FinalMessage(TranslateResponse):
    """The whole answer, as in POST /translate."""

    id: RequestId | None = None
    type: Literal["final"] = "final"


class ErrorMessage(BaseModel):
    """The error that ended a streamed request."""

    id: RequestId | None = None
    type: Literal["error"] = "error"
    error: str
    code: str
    retry_after: int | None = None
    detectedLanguage: dict[Literal["language"], str] | None = None

    @classmethod
    def of(cls, error: ServiceError, request_id: RequestId | None) -> Self:
        """`retry_after` is in seconds, for clients of a stream have no header."""
        detected = error.detected_language
        return cls(
            id=request_id,
            error=printable(str(error)),
            code=error.code,
            retry_after=error.retry_after_seconds,
            detectedLanguage=None if detected is None else {"language": detected},
        )


def render(message: BaseModel) -> str:
    return message.model_dump_json(exclude_none=True)


async def render_answer(wanted: TranslateRequest, translations: list[TranslationResult]) -> str:
    """The answer of a request that is not streamed."""
    return await text_work(
        _size_of(wanted, translations),
        lambda: render(TranslateResponse.of(wanted, translations)),
    )


async def render_piece(
    wanted: TranslateRequest,
    piece: TextPiece | list[TranslationResult],
    record: RequestRecord,
    request_id: RequestId | None = None,
) -> str:
    """The message for a piece or for the final answer, which `record` is told of."""
    record.has_delivered = True
    if isinstance(piece, TextPiece):
        return render(TokenMessage.of(wanted, piece, request_id))
    record.translations = piece
    return await text_work(
        _size_of(wanted, piece), lambda: _render_final(wanted, piece, request_id)
    )


def _render_final(
    wanted: TranslateRequest, translations: list[TranslationResult], request_id: RequestId | None
) -> str:
    message = FinalMessage.of(wanted, translations)
    message.id = request_id
    return render(message)


def _size_of(wanted: TranslateRequest, translations: list[TranslationResult]) -> int:
    if wanted.details in ("attention", "search"):
        return MAX_ENTRIES
    return num_characters(translation.text for translation in translations)
