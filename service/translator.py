"""From texts to sentences, through the engine, and back to texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.options import DecodingOptions
from model.sentence import Hypothesis, SourceSentence
from service.engine import Engine
from service.errors import TextTooLong, TranslationFailed, UnsupportedLanguage, shown
from service.seam import Tokenizer
from service.sequence import Outcome
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


@dataclass(frozen=True)
class TextTranslation:
    """One text's translation; `alternatives` are the next best, `detection` if it was asked."""

    text: str
    alternatives: list[str]
    sentences: list[SentenceTranslation]
    detection: Detection | None


@dataclass(frozen=True)
class _Plan:
    """One text and what is to be done with it; no document: it stays as it is."""

    text: str
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
    ) -> None:
        self._engine, self._tokenizer = engine, tokenizer
        self._pairs = frozenset(pairs)
        self._detector = LanguageDetector()
        self._max_sentence_tokens = max_source_tokens - _TAG_AND_EOS
        self.sources = list(dict.fromkeys(source for source, _ in pairs))
        self.languages = list(dict.fromkeys([*self.sources, *(target for _, target in pairs)]))

    def targets_of(self, source: str) -> list[str]:
        """The languages that `source` can be translated into."""
        return [code for code in self.languages if (source, code) in self._pairs]

    def check_pair(self, source: str, target: str) -> None:
        """Raise UnsupportedLanguage unless source (or "auto") to target can be answered."""
        allowed = ", ".join(self.languages)
        if source not in {AUTO, *self.languages}:
            raise UnsupportedLanguage(
                f"source language {shown(source)} is not supported; supported: auto, {allowed}"
            )
        if target not in self.languages:
            raise UnsupportedLanguage(
                f"target language {shown(target)} is not supported; supported: {allowed}"
            )
        if source not in (AUTO, target) and (source, target) not in self._pairs:
            pairs = ", ".join(f"{a} to {b}" for a, b in sorted(self._pairs))
            raise UnsupportedLanguage(f"cannot translate {source} to {target}; supported: {pairs}")

    async def translate(
        self, texts: Sequence[str], source: str, target: str, options: DecodingOptions
    ) -> list[TextTranslation]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        self.check_pair(source, target)
        self._engine.require_room(len(texts))
        plans = [self._plan(text, source, target) for text in texts]
        sentences = [sentence for plan in plans for sentence in plan.sentences]
        self._require_room(len(sentences))
        outcomes = await self._engine.translate(
            [
                SourceSentence(self._tokenizer.encode_source(sentence, target), options)
                for sentence in sentences
            ]
        )
        remaining = iter(outcomes)
        return [
            self._assemble(plan, [next(remaining) for _ in plan.sentences], target)
            for plan in plans
        ]

    def _require_room(self, num_sentences: int) -> None:
        if num_sentences > self._engine.max_waiting:
            raise TextTooLong(
                f"the texts have {num_sentences} sentences, "
                f"at most {self._engine.max_waiting} are allowed in one request"
            )
        self._engine.require_room(num_sentences)

    def _plan(self, text: str, source: str, target: str) -> _Plan:
        detection = None
        if source == AUTO:
            candidates = list(dict.fromkeys([*self.sources, target]))
            detection = self._detector.detect(text, candidates)
            source = detection.language
            self.check_pair(source, target)
        if source == target:
            return _Plan(text, detection, None)
        document = Document(text, source, self._max_sentence_tokens, self._count_tokens)
        return _Plan(text, detection, document)

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode_source_batch([text])[0])

    def _assemble(self, plan: _Plan, outcomes: Sequence[Outcome], target: str) -> TextTranslation:
        for outcome in outcomes:
            if outcome.error is not None or not outcome.hypotheses:
                raise TranslationFailed(f"a sentence could not be translated: {outcome.error}")
        if plan.document is None or not outcomes:
            return TextTranslation(plan.text, [], [], plan.detection)
        spelled = [[self._tokenizer.decode(h.ids) for h in o.hypotheses] for o in outcomes]
        versions = [
            plan.document.join([texts[min(rank, len(texts) - 1)] for texts in spelled], target)
            for rank in range(max(map(len, spelled)))
        ]
        details = [
            self._detail(source, texts[0], outcome.hypotheses[0])
            for source, texts, outcome in zip(plan.sentences, spelled, outcomes, strict=True)
        ]
        return TextTranslation(versions[0], versions[1:], details, plan.detection)

    def _detail(self, source: str, target: str, best: Hypothesis) -> SentenceTranslation:
        return SentenceTranslation(
            source,
            target,
            self._tokenizer.pieces(best.ids),
            list(best.log_probs),
            best.score,
            best.finish_reason,
        )
