"""From texts to sentences, through the engine, and back to texts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from model.languages import Languages, shown_pairs
from model.options import DecodingOptions
from model.sentence import Hypothesis, SourceSentence
from service.engine import Engine
from service.errors import InvalidField, UnsupportedLanguage, shown
from service.seam import Tokenizer
from service.sequence import Outcome, Times, Update
from service.streaming import GrowingText
from service.text.detection import Detection, LanguageDetector
from service.text.segmentation import Document

AUTO = "auto"
_TAG_AND_EOS = 2


@dataclass(frozen=True)
class SentenceTranslation:
    """One sentence's best hypothesis, spelled out."""

    source: str
    target: str
    tokens: list[str]
    log_probs: list[float]
    score: float
    finish_reason: str
    times: Times


@dataclass(frozen=True)
class TextTranslation:
    """One text's translation; `alternatives` are the next best, `detection` if it was asked."""

    text: str
    alternatives: list[str]
    sentences: list[SentenceTranslation]
    detection: Detection | None


@dataclass(frozen=True)
class TextPiece:
    """The next part of one text's translation: which text, which of its sentences, what."""

    text_index: int
    sentence: int
    text: str


@dataclass(frozen=True)
class Job:
    """What to translate and how. `prefixes` are how the translations of the first sentences must
    begin; `deadline_seconds` counts from the job's start, None is no deadline."""

    texts: Sequence[str]
    source: str
    target: str
    options: DecodingOptions
    deadline_seconds: float | None = None
    prefixes: Sequence[str] = ()


@dataclass(frozen=True)
class _Plan:
    """One text and what is to be done with it; no document: it stays as it is."""

    text: str
    source: str
    detection: Detection | None
    document: Document | None

    @property
    def sentences(self) -> list[str]:
        return self.document.sentences if self.document else []


class Translator:
    """Translates texts between the pairs of one model."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        pairs: Sequence[tuple[str, str]],
        max_source_tokens: int,
        own_codes: Mapping[str, str] | None = None,
    ) -> None:
        """`own_codes`: other names of the pairs' languages, mapped to them."""
        self._engine, self._tokenizer = engine, tokenizer
        self._pairs = frozenset(pairs)
        self._detector = LanguageDetector()
        self._max_sentence_tokens = max_source_tokens - _TAG_AND_EOS
        self.sources = list(dict.fromkeys(source for source, _ in pairs))
        self.languages = list(dict.fromkeys([*self.sources, *(target for _, target in pairs)]))
        self._known = Languages(self.languages, own_codes)

    def targets_of(self, source: str) -> list[str]:
        """The languages that `source` can be translated into."""
        return [code for code in self.languages if (source, code) in self._pairs]

    def resolve_pair(self, source: str, target: str) -> tuple[str, str]:
        """The model's own codes for source (or "auto") and target, however they are written.

        Raises UnsupportedLanguage unless they can be answered.
        """
        allowed = ", ".join(self.languages)
        known_source = AUTO if source == AUTO else self._known.find(source)
        if known_source is None:
            raise UnsupportedLanguage(
                f"source language {shown(source)} is not supported; supported: auto, {allowed}"
            )
        known_target = self._known.find(target)
        if known_target is None:
            raise UnsupportedLanguage(
                f"target language {shown(target)} is not supported; supported: {allowed}"
            )
        pair = (known_source, known_target)
        if known_source not in (AUTO, known_target) and pair not in self._pairs:
            pairs = shown_pairs(sorted(self._pairs))
            raise UnsupportedLanguage(f"cannot translate {source} to {target}; supported: {pairs}")
        return pair

    async def translate(self, job: Job) -> list[TextTranslation]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        job = self._resolve(job)
        plans, sentences = self._prepare(job)
        outcomes = await self._engine.translate(sentences, job.deadline_seconds)
        return self._assemble_all(plans, outcomes, job.target)

    @contextlib.asynccontextmanager
    async def stream(
        self, job: Job
    ) -> AsyncGenerator[AsyncGenerator[TextPiece | list[TextTranslation]]]:
        """The translations piece by piece, and at the end whole; leaving the block cancels.

        Every text's pieces joined are its translation. Raises as `translate`.
        """
        job = self._resolve(job)
        plans, sentences = self._prepare(job, is_streamed=True)
        async with self._engine.stream(sentences, job.deadline_seconds) as updates:
            yield self._follow(plans, updates, job.target)

    async def _follow(
        self, plans: Sequence[_Plan], updates: AsyncIterator[Update], target: str
    ) -> AsyncGenerator[TextPiece | list[TextTranslation]]:
        growing = [self._growing(plan, target) for plan in plans]
        places = [(i, k) for i, plan in enumerate(plans) for k in range(len(plan.sentences))]
        outcomes: dict[int, Outcome] = {}
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
        yield self._assemble_all(plans, [outcomes[n] for n in range(len(places))], target)

    def _growing(self, plan: _Plan, target: str) -> GrowingText:
        gaps = plan.document.gaps(target) if plan.document else [plan.text]
        return GrowingText(gaps, [self._tokenizer.stream() for _ in plan.sentences])

    def _resolve(self, job: Job) -> Job:
        source, target = self.resolve_pair(job.source, job.target)
        return dataclasses.replace(job, source=source, target=target)

    def _prepare(
        self, job: Job, is_streamed: bool = False
    ) -> tuple[list[_Plan], list[SourceSentence]]:
        """What to do with each text, and the sentences to translate for it."""
        self._engine.require_room(1 if any(job.texts) else 0)
        plans = [self._plan(text, job.source, job.target) for text in job.texts]
        texts = [sentence for plan in plans for sentence in plan.sentences]
        self._engine.require_room(len(texts))
        if len(job.prefixes) > len(texts):
            raise InvalidField(
                f"target_prefix has {len(job.prefixes)} beginnings for {len(texts)} sentences"
            )
        sources = [plan.source for plan in plans for _ in plan.sentences]
        start = self._tokenizer.target_start(job.target)
        prefixes = [(*start, *ids) for ids in self._tokenizer.encode_target_batch(job.prefixes)]
        prefixes += [tuple(start)] * (len(texts) - len(prefixes))
        return plans, [
            SourceSentence(
                self._tokenizer.encode_source(text, job.target, source),
                job.options,
                is_streamed,
                prefix,
            )
            for text, source, prefix in zip(texts, sources, prefixes, strict=True)
        ]

    def _plan(self, text: str, source: str, target: str) -> _Plan:
        detection = None
        if source == AUTO:
            candidates = list(dict.fromkeys([*self.sources, target]))
            detection = self._detector.detect(text, candidates)
            source = detection.language
            self.resolve_pair(source, target)
        if source == target:
            return _Plan(text, source, detection, None)
        document = Document(text, source, self._max_sentence_tokens, self._count_tokens)
        return _Plan(text, source, detection, document)

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode_source_batch([text])[0])

    def _best(self, outcome: Outcome) -> Hypothesis:
        if outcome.error is not None:
            raise outcome.error
        return outcome.hypotheses[0]

    def _assemble_all(
        self, plans: Sequence[_Plan], outcomes: Sequence[Outcome], target: str
    ) -> list[TextTranslation]:
        remaining = iter(outcomes)
        return [
            self._assemble(plan, [next(remaining) for _ in plan.sentences], target)
            for plan in plans
        ]

    def _assemble(self, plan: _Plan, outcomes: Sequence[Outcome], target: str) -> TextTranslation:
        for outcome in outcomes:
            self._best(outcome)
        if plan.document is None or not outcomes:
            return TextTranslation(plan.text, [], [], plan.detection)
        spelled = [[self._tokenizer.decode(h.ids) for h in o.hypotheses] for o in outcomes]
        versions = [
            plan.document.join([texts[min(rank, len(texts) - 1)] for texts in spelled], target)
            for rank in range(max(map(len, spelled)))
        ]
        details = [
            self._detail(source, texts[0], outcome)
            for source, texts, outcome in zip(plan.sentences, spelled, outcomes, strict=True)
        ]
        different = list(dict.fromkeys(versions))
        return TextTranslation(different[0], different[1:], details, plan.detection)

    def _detail(self, source: str, target: str, outcome: Outcome) -> SentenceTranslation:
        assert outcome.times is not None
        best = outcome.hypotheses[0]
        return SentenceTranslation(
            source,
            target,
            self._tokenizer.pieces(best.ids),
            list(best.log_probs),
            best.score,
            best.finish_reason,
            outcome.times,
        )
