"""Split texts into sentences, translate them with one model's engine, and join the results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from model.text.languages import Languages
from service.engine.engine import Engine
from service.engine.interfaces import SourceEncoder, Tokenizer
from service.engine.sentence_task import SentenceOutcome, SentenceTimes, Update
from service.errors import InvalidField
from service.translation.detection import Detection
from service.translation.prefix import PrefixBounds
from service.translation.segmentation import Document
from service.translation.stream_assembler import StreamAssembler


@dataclass(frozen=True)
class SentenceResult:
    """One sentence's best hypothesis as text and tokens."""

    source: str
    target: str
    tokens: list[str]
    log_probs: list[float]
    score: float
    finish_reason: str
    times: SentenceTimes


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
    alternatives: list[str]
    sentences: list[SentenceResult]
    model: str
    detection: Detection | None = None
    pivot: PivotTranslation | None = None


@dataclass(frozen=True)
class TextPiece:
    """The next part of one text's translation, with the indices of the text and the sentence."""

    text_index: int
    sentence: int
    text: str


@dataclass(frozen=True)
class ModelJob:
    """The work of one model, in its own language codes.

    `prefixes`: required beginnings of the first sentences' translations; `ends_seconds`: the
    deadline on the monotonic clock, None is no deadline. Work that `is_admitted` is never refused
    for lack of room, because it continues an accepted request.
    """

    texts: Sequence[str]
    source: str
    target: str
    options: DecodingOptions
    ends_seconds: float | None = None
    prefixes: Sequence[str] = ()
    is_admitted: bool = False

    @property
    def deadline_seconds(self) -> float | None:
        """Seconds from now until the deadline."""
        return None if self.ends_seconds is None else max(0.0, self.ends_seconds - time.monotonic())


@dataclass(frozen=True)
class _SegmentedJobText:
    """One text and its sentences; without a document the text is not translated."""

    text: str
    document: Document | None

    @property
    def sentences(self) -> list[str]:
        return self.document.sentences if self.document else []


class Translator:
    """Translates texts between the pairs of one model."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        tokenizer: Tokenizer,
        pairs: Sequence[tuple[str, str]],
        decoding: DecodingOptions,
        max_source_tokens: int,
        own_codes: Mapping[str, str] | None = None,
    ) -> None:
        """`decoding`: the model's defaults. `own_codes`: other codes -> the pairs' languages."""
        self.name, self.engine, self.decoding = name, engine, decoding
        self._tokenizer = tokenizer
        self.pairs = frozenset(pairs)
        self._max_source_tokens = max_source_tokens
        self.sources = list(dict.fromkeys(source for source, _ in pairs))
        self.languages = list(dict.fromkeys([*self.sources, *(target for _, target in pairs)]))
        self._known = Languages(self.languages, own_codes)

    def find(self, code: str) -> str | None:
        """The model's own code for a language in any spelling, or None."""
        return self._known.find(code)

    def can_translate(self, source: str, target: str) -> bool:
        """Whether the model has this pair, given in its own codes."""
        return (source, target) in self.pairs

    def require_possible(self, work: ModelJob) -> None:
        """Raise InvalidField if the options or prefixes are invalid for any text.

        `translate` and `stream` also check them against the texts.
        """
        start = self._tokenizer.target_start(work.target)
        bounds = PrefixBounds(work.options, self.engine.max_target_tokens, start)
        bounds.require_possible(self._tokenizer.encode_target_batch(work.prefixes))

    async def translate(self, work: ModelJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        segmented_texts, sentences = self._prepare(work)
        outcomes = await self.engine.translate(
            sentences, work.deadline_seconds, is_admitted=work.is_admitted
        )
        return self._assemble_all(segmented_texts, outcomes, work.target)

    @contextlib.asynccontextmanager
    async def stream(
        self, work: ModelJob
    ) -> AsyncGenerator[AsyncGenerator[TextPiece | list[TranslationResult]]]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`.
        """
        segmented_texts, sentences = self._prepare(work, is_streamed=True)
        async with self.engine.stream(
            sentences, work.deadline_seconds, is_admitted=work.is_admitted
        ) as updates:
            yield self._follow(segmented_texts, updates, work.target)

    async def _follow(
        self,
        segmented_texts: Sequence[_SegmentedJobText],
        updates: AsyncIterator[Update],
        target: str,
    ) -> AsyncGenerator[TextPiece | list[TranslationResult]]:
        growing = [self._assembler(segmented, target) for segmented in segmented_texts]
        places = [
            (i, k)
            for i, segmented in enumerate(segmented_texts)
            for k in range(len(segmented.sentences))
        ]
        outcomes: dict[int, SentenceOutcome] = {}
        for i, text in enumerate(growing):
            for piece in text.pieces():
                yield TextPiece(i, piece.sentence, piece.text)
        async for update in updates:
            i, sentence = places[update.index]
            growing[i].grow(sentence, update.ids)
            if update.outcome is not None:
                outcomes[update.index] = update.outcome
                best = self._best(update.outcome)
                growing[i].finish(sentence, self._tokenizer.decode(best.ids))
            for piece in growing[i].pieces():
                yield TextPiece(i, piece.sentence, piece.text)
        yield self._assemble_all(segmented_texts, [outcomes[n] for n in range(len(places))], target)

    def _assembler(self, segmented: _SegmentedJobText, target: str) -> StreamAssembler:
        gaps = segmented.document.gaps(target) if segmented.document else [segmented.text]
        return StreamAssembler(gaps, [self._tokenizer.stream() for _ in segmented.sentences])

    def _prepare(
        self, work: ModelJob, is_streamed: bool = False
    ) -> tuple[list[_SegmentedJobText], list[SourceSentence]]:
        """Segment and encode the texts; raises if there is no room or a prefix does not fit."""
        self._require_room(work, 1 if any(work.texts) else 0)
        encoder = SourceEncoder(self._tokenizer, work.source, work.target, self._max_source_tokens)
        segmented_texts = [
            self._segment(text, work.source, work.target, encoder) for text in work.texts
        ]
        texts = [sentence for segmented in segmented_texts for sentence in segmented.sentences]
        self._require_room(work, len(texts))
        if len(work.prefixes) > len(texts):
            raise InvalidField(
                f"target_prefix has {len(work.prefixes)} beginnings for {len(texts)} sentences"
            )
        start = self._tokenizer.target_start(work.target)
        beginnings = self._tokenizer.encode_target_batch(work.prefixes)
        sources = [encoder.ids(text) for text in texts]
        bounds = PrefixBounds(work.options, self.engine.max_target_tokens, start)
        bounds.require_fitting(beginnings, [len(ids) for ids in sources])
        prefixes = [(*start, *ids) for ids in beginnings]
        prefixes += [tuple(start)] * (len(texts) - len(prefixes))
        return segmented_texts, [
            SourceSentence(ids, work.options, is_streamed, prefix)
            for ids, prefix in zip(sources, prefixes, strict=True)
        ]

    def _require_room(self, work: ModelJob, num_sentences: int) -> None:
        if work.is_admitted:
            self.engine.require_running()
        else:
            self.engine.require_room(num_sentences)

    def _segment(
        self, text: str, source: str, target: str, encoder: SourceEncoder
    ) -> _SegmentedJobText:
        if source == target:
            return _SegmentedJobText(text, None)
        return _SegmentedJobText(
            text, Document(text, source, self._max_source_tokens, encoder.count)
        )

    def _best(self, outcome: SentenceOutcome) -> Hypothesis:
        if outcome.error is not None:
            raise outcome.error
        return outcome.hypotheses[0]

    def _assemble_all(
        self,
        segmented_texts: Sequence[_SegmentedJobText],
        outcomes: Sequence[SentenceOutcome],
        target: str,
    ) -> list[TranslationResult]:
        remaining = iter(outcomes)
        return [
            self._assemble(segmented, [next(remaining) for _ in segmented.sentences], target)
            for segmented in segmented_texts
        ]

    def _assemble(
        self, segmented: _SegmentedJobText, outcomes: Sequence[SentenceOutcome], target: str
    ) -> TranslationResult:
        for outcome in outcomes:
            self._best(outcome)
        if segmented.document is None or not outcomes:
            return TranslationResult(segmented.text, [], [], self.name)
        spelled = [[self._tokenizer.decode(h.ids) for h in o.hypotheses] for o in outcomes]
        versions = [
            segmented.document.join([texts[min(rank, len(texts) - 1)] for texts in spelled], target)
            for rank in range(max(map(len, spelled)))
        ]
        details = [
            self._detail(source, texts[0], outcome)
            for source, texts, outcome in zip(segmented.sentences, spelled, outcomes, strict=True)
        ]
        different = list(dict.fromkeys(versions))
        return TranslationResult(different[0], different[1:], details, self.name)

    def _detail(self, source: str, target: str, outcome: SentenceOutcome) -> SentenceResult:
        assert outcome.times is not None
        best = outcome.hypotheses[0]
        return SentenceResult(
            source,
            target,
            self._tokenizer.pieces(best.ids),
            list(best.log_probs),
            best.score,
            best.finish_reason,
            outcome.times,
        )
