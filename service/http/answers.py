"""What POST /translate and the websocket answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel

from service.errors import ServiceError, printable
from service.http.answer_details import DetectedLanguage, TextDetail
from service.http.schemas import TranslateRequest
from service.translation.results import (
    TextPiece,
    TranslationResult,
)


class TranslateResponse(BaseModel):
    """The answer. Members are lists if q is a list; members not requested are absent."""

    translatedText: str | list[str]
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None
    alternatives: list[str] | list[list[str]] | None = None
    details: list[TextDetail] | None = None

    @classmethod
    def of(cls, request: TranslateRequest, translations: Sequence[TranslationResult]) -> Self:
        is_list = isinstance(request.q, list)
        texts = [translation.text for translation in translations]
        more = [
            list(translation.alternatives[: request.alternatives]) for translation in translations
        ]
        detected = [
            DetectedLanguage(**dataclasses.asdict(translation.detection))
            for translation in translations
            if translation.detection
        ]
        return cls(
            translatedText=texts if is_list else texts[0],
            detectedLanguage=(detected if is_list else detected[0]) if detected else None,
            alternatives=(more if is_list else more[0]) if request.alternatives else None,
            details=[TextDetail.of(t) for t in translations] if request.details else None,
        )


class TokenMessage(BaseModel):
    """The next part of a translation. `index` is the text's position if q is a list, `segment` the
    sentence's. The parts of a text joined are its translatedText."""

    id: str | int | None = None
    type: Literal["token"] = "token"
    text: str
    index: int | None = None
    segment: int | None = None

    @classmethod
    def of(cls, request: TranslateRequest, piece: TextPiece, request_id: str | int | None) -> Self:
        index = piece.text_index if isinstance(request.q, list) else None
        return cls(id=request_id, text=piece.text, index=index, segment=piece.sentence)


class FinalMessage(TranslateResponse):
    """The whole answer, as in POST /translate."""

    id: str | int | None = None
    type: Literal["final"] = "final"

    @classmethod
    def of(
        cls,
        request: TranslateRequest,
        translations: Sequence[TranslationResult],
        request_id: str | int | None = None,
    ) -> Self:
        message = super().of(request, translations)
        message.id = request_id
        return message


class ErrorMessage(BaseModel):
    """The error that ended a streamed request."""

    id: str | int | None = None
    type: Literal["error"] = "error"
    error: str
    code: str
    retry_after: int | None = None

    @classmethod
    def of(cls, error: ServiceError, request_id: str | int | None) -> Self:
        """`retry_after` is in seconds, for clients of a stream have no header."""
        return cls(
            id=request_id,
            error=printable(str(error)),
            code=error.code,
            retry_after=error.retry_after_seconds,
        )
