"""The records of finished translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.decoding.search_trace import SearchTrace
from model.decoding.sentence import AttentionTables, Hypothesis
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check
from service.translation.confidence import SentenceConfidence
from service.translation.language.detection import Detection
from service.translation.sentence.document import Sentence
from service.translation.sentence.stages import Version


@dataclass(frozen=True)
class SentenceAttention:
    """The attention of a sentence, and the tokens that its rows and columns stand for."""

    source_tokens: Sequence[str]
    target_tokens: Sequence[str]
    tables: AttentionTables


@dataclass(frozen=True)
class SentenceSearch:
    """The beam search of a sentence; `pieces`: the text of each token in it."""

    trace: SearchTrace
    pieces: Mapping[int, str]
    beam_size: int


@dataclass(frozen=True)
class SentenceResult:
    """One sentence, its translation, and the tokens, scores and end of its best hypothesis.

    `versions`: its translations with marks, best first; `faults`: what the best lost, 0 for
    nothing; `source` and `target`: the texts of the
    sentence and of the best one, without marks; `alignment`: which words translate each other;
    `confidence`: how likely words and sentence are right, None also if it was not measured for the
    pair; `attention`: of all layers and heads; `search`: all its steps. None if the job did not
    ask. `checks`: what does not match, if the job asked.
    """

    sentence: Sentence
    versions: Sequence[Version]
    faults: float
    source: str
    target: str
    tokens: Sequence[str]
    best: Hypothesis
    times: SentenceOutcome
    alignment: Sequence[AlignmentLink] | None = None
    confidence: SentenceConfidence | None = None
    checks: Sequence[Check] = ()
    attention: SentenceAttention | None = None
    search: SentenceSearch | None = None


@dataclass(frozen=True)
class PivotTranslation:
    """A text's translation into the pivot language, if no model has the pair directly."""

    language: str
    text: str
    model: str
    sentences: Sequence[SentenceResult]


@dataclass(frozen=True)
class TranslationResult:
    """One text's translation by `model`; `alternatives` are the next best, `detection` is set if
    requested, `pivot` if the route has two hops."""

    text: str
    alternatives: Sequence[str]
    sentences: Sequence[SentenceResult]
    model: str
    detection: Detection | None = None
    pivot: PivotTranslation | None = None


@dataclass(frozen=True)
class TextPiece:
    """The next part of one text's translation, with the indices of the text in the job and of the
    sentence in the text."""

    text_index: int
    sentence: int
    text: str


def with_pivots(
    results: Sequence[TranslationResult], pivots: Sequence[PivotTranslation | None]
) -> list[TranslationResult]:
    """The results, each with the pivot that it went through."""
    return [
        dataclasses.replace(result, pivot=pivot) if pivot else result
        for result, pivot in zip(results, pivots, strict=True)
    ]


def with_detections(
    results: Sequence[TranslationResult], detections: Sequence[Detection]
) -> list[TranslationResult]:
    """The results, each with the language that was detected, if there are detections."""
    if not detections:
        return list(results)
    return [
        dataclasses.replace(result, detection=found)
        for result, found in zip(results, detections, strict=True)
    ]
