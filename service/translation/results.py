"""The records of finished translations.

Answers are made from them as they are: what `details` tell is in the classes named so, and what
only the server reads is in classes that extend them, or excluded. Members are lists, because
pydantic serialises other sequences in Python.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, InstanceOf, PlainSerializer

from model.decoding.search_trace import SearchStep
from model.decoding.sentence import FinishReason
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check
from service.translation.confidence import WordConfidence
from service.translation.language.detection import Detection
from service.translation.markup.coded_text import CodedText, Text
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.stages import Draft


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
class Milliseconds:
    """Times of a sentence: waiting for a slot, in the encoder, in the decoder."""

    queue: float
    encode: float
    decode: float

    @classmethod
    def of(cls, outcome: SentenceOutcome) -> Milliseconds:
        return cls(*(round(1000 * seconds, 3) for seconds in outcome.phases))


@dataclass(frozen=True, kw_only=True)
class SentenceDetail:
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
    ids: Annotated[list[int], Field(exclude=True)]
    tokens: list[str]
    log_probs: list[float]
    score: float
    finish_reason: FinishReason
    times: Annotated[
        InstanceOf[SentenceOutcome],
        PlainSerializer(Milliseconds.of),
        Field(serialization_alias="times_ms"),
    ]
    alignment: list[AlignmentLink]
    confidence: float | None = None
    words: list[WordConfidence] | None = None
    checks: list[Check]
    attention: Attention | None = None
    search: SearchDetail | None = None


@dataclass(frozen=True, kw_only=True)
class SentenceResult(SentenceDetail):
    """`drafts`: the translations of the sentence with marks, best first; `faults`: what the best
    one lost, 0 for nothing."""

    sentence: Sentence
    drafts: Sequence[Draft]
    faults: float


@dataclass(frozen=True)
class Pivot:
    """The intermediate translation of a text, the model that made it, and what its checks found."""

    language: str
    text: str
    model: str
    checks: list[Check]
    sentences: Annotated[list[SentenceDetail], Field(exclude=True)]

    @classmethod
    def of(cls, language: str, result: TranslationResult) -> Pivot:
        checks = [check for sentence in result.sentences for check in sentence.checks]
        return cls(language, result.text, result.model, checks, result.sentences)


@dataclass(frozen=True)
class SuggestionDetail:
    """The approved suggestion that is the translation: the text that it is for, and whether that is
    the text as it was sent. If not, white space, the case of the first letter or escapes differ."""

    text: str
    is_exact: bool


@dataclass(frozen=True, kw_only=True)
class TextDetail:
    """One text: the model and sentences of its last hop, and `pivot` for the first of two hops.
    With a `suggestion` these are of the machine's translation."""

    model: str
    suggestion: SuggestionDetail | None = None
    pivot: Pivot | None = None
    sentences: list[SentenceDetail]


@dataclass(frozen=True, kw_only=True)
class TranslationResult(TextDetail):
    """One text's translation; `alternatives` are the next best, `detection` is set if requested,
    `coded` if the text has codes."""

    text: str
    alternatives: list[str]
    detection: Detection | None = None
    coded: CodedText | None = None

    @property
    def written(self) -> Text:
        """The translation, with the codes of a text that has any."""
        return self.text if self.coded is None else self.coded


@dataclass(frozen=True)
class TextPiece:
    """The next part of one text's translation, with the indices of the text in the job and of the
    sentence in the text."""

    text_index: int
    sentence: int
    text: str


def with_pivots(
    results: Sequence[TranslationResult], pivots: Sequence[Pivot | None]
) -> list[TranslationResult]:
    """The results, each with the pivot that it went through."""
    return [
        dataclasses.replace(result, pivot=pivot) if pivot else result
        for result, pivot in zip(results, pivots, strict=True)
    ]
