"""The records of finished translations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.decoding.search_trace import SearchStep
from model.decoding.sentence import Hypothesis
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check
from service.translation.confidence import SentenceConfidence
from service.translation.language.detection import Detection
from service.translation.sentence.document import Sentence
from service.translation.sentence.stages import Version


@dataclass(frozen=True)
class Attention:
    """Probabilities as nested lists, [layer][head][row][column]: encoder of source by source
    tokens, decoder of target by target tokens, memory of target by source tokens. Row i of decoder
    and memory predicts target token i; column i of the decoder is the token before it.
    """

    source_tokens: list[str]
    target_tokens: list[str]
    encoder: list[Any]
    decoder: list[Any]
    memory: list[Any]


@dataclass(frozen=True)
class SearchDetail:
    """The steps of a beam search. path: the index of the best hypothesis among the candidates of
    each step until it ends. agrees: whether it is the translation that the engine found; with a
    GPU, whose numbers are coarser, it may not be."""

    beam_size: int
    score: float
    path: list[int]
    agrees: bool
    steps: list[SearchStep]


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
    attention: Attention | None = None
    search: SearchDetail | None = None


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
