"""The wire types of POST /translate: LibreTranslate's fields and our extensions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from model.decoding.options import BOUNDS
from model.decoding.search_trace import TracedStep
from model.text.languages import MAX_CODE_CHARACTERS
from service.engine.sentence_task import SentenceTimes
from service.errors import InvalidField, ServiceError, printable
from service.http.glossary_field import GlossaryField
from service.http.preferred_languages import PreferredLanguages, listed
from service.http.request_model import RequestModel
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check, Kind
from service.translation.confidence import WordConfidence
from service.translation.glossary import MAX_TERMS
from service.translation.job import Inspection, SplitSentences, TextFormat, TranslationJob
from service.translation.options import SAMPLING_OPTIONS
from service.translation.results import (
    PivotTranslation,
    SentenceAttention,
    SentenceResult,
    SentenceSearch,
    TextPiece,
    TranslationResult,
)

_OPTIONS = (
    *SAMPLING_OPTIONS,
    "length_penalty",
    "max_length",
    "repetition_penalty",
    "no_repeat_ngram_size",
)
_OTHER_CODES = {"zt": "zh-Hant", "pb": "pt-BR"}
"""LibreTranslate's codes that are no codes of BCP 47."""
_MAX_KEY_CHARACTERS = 512
_MAX_NAME_CHARACTERS = 255
_MAX_KEPT, _MAX_KEPT_CHARACTERS = 100, 200


def _option(name: str, description: str) -> Any:
    """A field for an option of `DecodingOptions`, with its bounds; absent by default."""
    bounds = BOUNDS[name]
    return Field(None, ge=bounds.low, le=bounds.high, description=description)


def check_texts(value: object) -> object:
    """The validator of a field that holds a text or a list of texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return value
    raise PydanticCustomError("texts", "must be a string or a list of strings")


def _check_kept(value: object) -> object:
    strings = [value] if isinstance(value, str) else value
    if strings is None or _are_kept_strings(strings):
        return value
    raise PydanticCustomError(
        "kept",
        f"must be a string or a list of at most {_MAX_KEPT} strings, each of 1 to "
        f"{_MAX_KEPT_CHARACTERS} characters",
    )


def _are_kept_strings(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MAX_KEPT
        and all(
            isinstance(text, str) and text.strip() and len(text) <= _MAX_KEPT_CHARACTERS
            for text in value
        )
    )


class TranslateRequest(RequestModel):
    """A translation request.

    Any of temperature, top_k, top_p and seed selects sampling. Otherwise the request uses beam
    search with the model's defaults.
    """

    spelled_in_json = frozenset({"alternatives"})  # which LibreTranslate's clients spell

    q: Annotated[str | list[str], BeforeValidator(check_texts)] = Field(
        description="A text, or a list of texts."
    )
    source: str = Field(
        max_length=MAX_CODE_CHARACTERS,
        description='Language code of the text, or "auto" to detect it.',
    )
    target: str = Field(
        max_length=MAX_CODE_CHARACTERS, description="Language code to translate into."
    )
    preferred_languages: PreferredLanguages = None
    format: TextFormat = Field(
        "text",
        description='How the text is written: "text", "html" (also XML), or "auto" for html if it '
        "has elements of HTML.",
    )
    keep: Annotated[str | list[str] | None, BeforeValidator(_check_kept)] = Field(
        None,
        description=f"Strings that stay as they are, {_MAX_KEPT} at most, of at most "
        f"{_MAX_KEPT_CHARACTERS} characters each.",
    )
    split_sentences: SplitSentences = Field(
        True,
        description='Where sentences end. true: at their marks and at line breaks; "nonewlines": '
        "single line breaks in plain text are spaces; false: as nonewlines, and a paragraph is one "
        "sentence. What is longer than the model takes is always cut.",
        json_schema_extra={"enum": [True, False, "nonewlines"]},
    )
    glossary: GlossaryField = Field(
        None,
        description=f"Terms that the translation must have, {MAX_TERMS} at most, or the name of a "
        "stored glossary.",
    )
    alternatives: int = Field(
        0, ge=0, le=15, description="How many more translations to give, at most."
    )
    api_key: str | None = Field(
        None,
        max_length=_MAX_KEY_CHARACTERS,
        description="An API key, where the server has keys; else ignored.",
    )
    secret: str | None = Field(
        None,
        max_length=_MAX_KEY_CHARACTERS,
        description="LibreTranslate's; accepted and ignored.",
    )
    beam_size: int | None = _option("beam_size", "Hypotheses to keep; 1 is greedy.")
    length_penalty: float | None = _option("length_penalty", "Above 1 prefers longer translations.")
    temperature: float | None = _option("temperature", "Sampling: 1 is neutral.")
    top_k: int | None = _option("top_k", "Sampling: only the k likeliest tokens; 0 is all.")
    top_p: float | None = _option("top_p", "Sampling: only the likeliest tokens of this mass.")
    seed: int | None = _option("seed", "Sampling: same seed, same translation; 0 by default.")
    max_length: int | None = _option("max_length", "Tokens that a sentence's translation may have.")
    repetition_penalty: float | None = _option(
        "repetition_penalty", "Above 1 makes words less likely that were used already."
    )
    no_repeat_ngram_size: int | None = _option(
        "no_repeat_ngram_size", "Tokens in a row that may not come twice; 0 allows all."
    )
    target_prefix: Annotated[str | list[str] | None, BeforeValidator(check_texts)] = Field(
        None,
        description="How the translation must begin, in fewer tokens than it may have; a list has "
        "one beginning a sentence of q.",
    )
    deadline_ms: int | None = Field(
        None, ge=1, le=3_600_000, description="Give up after this many milliseconds."
    )
    details: bool | Inspection = Field(
        False,
        description="Also give every sentence's tokens, scores, word alignment and checks; for a "
        'text of one sentence with "attention" the attention of every layer and head, with '
        '"search" the steps of the beam search.',
        json_schema_extra={"enum": [True, False, *get_args(Inspection)]},
    )
    model: str | None = Field(
        None,
        max_length=_MAX_NAME_CHARACTERS,
        description="The served model that is to translate; by default the first that can.",
    )

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q

    @property
    def prefixes(self) -> list[str]:
        """Target prefixes of the first sentences. Raises InvalidField if q is a list."""
        if self.target_prefix is None:
            return []
        if isinstance(self.q, list):
            raise InvalidField("target_prefix goes with one text, but q is a list")
        return [self.target_prefix] if isinstance(self.target_prefix, str) else self.target_prefix

    def weight(self, default_beam_size: int) -> float:
        """How many times the hypotheses of a usual request it asks for, at least 1."""
        num_hypotheses = max(self.beam_size or 1, self.alternatives + 1)
        return max(1.0, num_hypotheses / default_beam_size)

    def job(self, default_deadline_seconds: float | None) -> TranslationJob:
        """The request as a job, with this deadline if it has none. Raises InvalidField."""
        deadline_ms = self.deadline_ms
        return TranslationJob(
            texts=self.texts,
            source=_OTHER_CODES.get(self.source, self.source),
            target=_OTHER_CODES.get(self.target, self.target),
            beam_size=self.beam_size,
            alternatives=self.alternatives,
            options={
                name: value for name in _OPTIONS if (value := getattr(self, name)) is not None
            },
            deadline_seconds=deadline_ms / 1000 if deadline_ms else default_deadline_seconds,
            prefixes=self.prefixes,
            model=self.model,
            is_aligned=bool(self.details),
            inspection=None if isinstance(self.details, bool) else self.details,
            is_checked=bool(self.details),
            format=self.format,
            keep=listed(self.keep),
            preferred_languages=listed(self.preferred_languages),
            split_sentences=self.split_sentences,
            glossary=self.glossary,
        )


class DetectedLanguage(BaseModel):
    """The detected language of a text; confidence is 0 to 100."""

    language: str
    confidence: float


class Milliseconds(BaseModel):
    """Times of a sentence: waiting for a slot, in the encoder, in the decoder."""

    queue: float
    encode: float
    decode: float

    @classmethod
    def of(cls, times: SentenceTimes) -> Self:
        return cls(
            queue=round(times.queue * 1000, 3),
            encode=round(times.encode * 1000, 3),
            decode=round(times.decode * 1000, 3),
        )


class Attention(BaseModel):
    """Probabilities as nested lists, [layer][head][row][column]: encoder of source by source
    tokens, decoder of target by target tokens, memory of target by source tokens. Row i of decoder
    and memory predicts target token i; column i of the decoder is the token before it.
    """

    source_tokens: list[str]
    target_tokens: list[str]
    encoder: list[Any]
    decoder: list[Any]
    memory: list[Any]

    @classmethod
    def of(cls, attention: SentenceAttention) -> Self:
        return cls(
            source_tokens=list(attention.source_tokens),
            target_tokens=list(attention.target_tokens),
            **attention.tables._asdict(),
        )


class CheckDetail(BaseModel):
    """Something that differs between a sentence and its translation: what only the source has, and
    what only the translation has."""

    kind: Kind
    source: list[str]
    target: list[str]
    message: str

    @classmethod
    def of(cls, check: Check) -> Self:
        return cls(
            kind=check.kind,
            source=list(check.source),
            target=list(check.target),
            message=check.message,
        )


class SearchCandidate(BaseModel):
    """An extension of a live hypothesis by a token. parent: the place of that hypothesis among the
    live ones; log_prob: of the token; total: of the hypothesis; fate: "kept", "ended" or "dropped";
    place: its own among the live ones of the next step, only if kept."""

    parent: int
    token: str
    log_prob: float
    total: float
    fate: str
    place: int | None = None


class SearchStep(BaseModel):
    """A step of the search. likeliest: for each live hypothesis the next tokens with the highest
    probability, as [token, probability], before options change them."""

    candidates: list[SearchCandidate]
    likeliest: list[list[tuple[str, float]]]


class SearchDetail(BaseModel):
    """The steps of a beam search. path: the index of the best hypothesis among the candidates of
    each step until it ends. agrees: whether it is the translation that the engine found; with a
    GPU, whose numbers are coarser, it may not be."""

    beam_size: int
    score: float
    path: list[int]
    agrees: bool
    steps: list[SearchStep]

    @classmethod
    def of(cls, sentence: SentenceResult, search: SentenceSearch) -> Self:
        trace, pieces = search.trace, search.pieces
        return cls(
            beam_size=search.beam_size,
            score=trace.score,
            path=list(trace.path),
            agrees=list(trace.best) == list(sentence.best.ids),
            steps=[_search_step(step, pieces) for step in trace.steps],
        )


def _search_step(step: TracedStep, pieces: Mapping[int, str]) -> SearchStep:
    return SearchStep(
        candidates=[
            SearchCandidate(
                parent=candidate.parent,
                token=pieces[candidate.token],
                log_prob=round(candidate.log_prob, 4),
                total=round(candidate.total, 4),
                fate=candidate.fate,
                place=candidate.place,
            )
            for candidate in step.candidates
        ],
        likeliest=[
            [(pieces[token], round(share, 4)) for token, share in row] for row in step.likeliest
        ],
    )


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
        confidence = sentence.confidence
        return cls(
            source=sentence.source,
            target=sentence.target,
            tokens=list(sentence.tokens),
            log_probs=sentence.best.log_probs,
            score=sentence.best.score,
            finish_reason=sentence.best.finish_reason,
            times_ms=Milliseconds.of(sentence.times),
            alignment=list(sentence.alignment or ()),
            confidence=confidence.sentence if confidence else None,
            words=list(confidence.words) if confidence else None,
            checks=[CheckDetail.of(check) for check in sentence.checks],
            attention=Attention.of(sentence.attention) if sentence.attention else None,
            search=SearchDetail.of(sentence, sentence.search) if sentence.search else None,
        )


class Pivot(BaseModel):
    """The intermediate translation of a text, the model that made it, and what its checks found."""

    language: str
    text: str
    model: str
    checks: list[CheckDetail]

    @classmethod
    def of(cls, pivot: PivotTranslation) -> Self:
        checks = (check for sentence in pivot.sentences for check in sentence.checks)
        return cls(
            language=pivot.language,
            text=pivot.text,
            model=pivot.model,
            checks=[CheckDetail.of(check) for check in checks],
        )


class TextDetail(BaseModel):
    """One text: the model and sentences of its last hop, and `pivot` for the first of two
    hops."""

    model: str
    pivot: Pivot | None = None
    sentences: list[SentenceDetail]

    @classmethod
    def of(cls, translation: TranslationResult) -> Self:
        pivot = translation.pivot
        return cls(
            model=translation.model,
            pivot=Pivot.of(pivot) if pivot else None,
            sentences=[SentenceDetail.of(sentence) for sentence in translation.sentences],
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
