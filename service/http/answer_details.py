"""The parts of an answer to POST /translate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel

from model.decoding.search_trace import TracedStep
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check, Kind
from service.translation.confidence import WordConfidence
from service.translation.results import (
    PivotTranslation,
    SentenceAttention,
    SentenceResult,
    SentenceSearch,
    TranslationResult,
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
    def of(cls, times: SentenceOutcome) -> Self:
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
