"""Assemble the translations of texts from the outcomes of their sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from model.confidence import Calibration
from model.word_attention import Matrix
from service.engine.interfaces import Tokenizer
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import link_words
from service.translation.confidence import rate
from service.translation.job import ModelJob
from service.translation.results import SentenceResult, TranslationResult
from service.translation.segmentation import Document


class Assembly:
    """Joins the translated sentences of the model `name`. Any thread may call it."""

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        confidence: Mapping[tuple[str, str], Calibration],
    ) -> None:
        """`confidence`: how to rate the translations of each pair that was measured."""
        self._name, self._tokenizer, self._confidence = name, tokenizer, confidence

    def results(
        self, work: ModelJob, documents: Sequence[Document], outcomes: Sequence[SentenceOutcome]
    ) -> list[TranslationResult]:
        """One result per document; `outcomes` are those of all sentences, in order.

        Raises the first failed sentence's error.
        """
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        remaining = iter(outcomes)
        return [
            self._result(work, index, document, [next(remaining) for _ in document.sentences])
            for index, document in enumerate(documents)
        ]

    def _result(
        self,
        work: ModelJob,
        index: int,
        document: Document,
        outcomes: Sequence[SentenceOutcome],
    ) -> TranslationResult:
        spelled = [[self._tokenizer.decode(h.ids) for h in o.hypotheses] for o in outcomes]
        num_versions = max(map(len, spelled), default=1)
        versions = [
            document.join([texts[min(rank, len(texts) - 1)] for texts in spelled], work.target)
            for rank in range(num_versions)
        ]
        best, *others = dict.fromkeys(versions)
        sentences = [
            self._sentence(work, source, texts[0], outcome)
            for source, texts, outcome in zip(document.sentences, spelled, outcomes, strict=True)
        ]
        return TranslationResult(
            best, others, sentences, self._name, work.detections[index], work.pivots[index]
        )

    def _sentence(
        self, work: ModelJob, source: str, target: str, outcome: SentenceOutcome
    ) -> SentenceResult:
        assert outcome.times is not None
        best = outcome.hypotheses[0]
        tokens = self._tokenizer.pieces(best.ids)
        result = SentenceResult(source, target, tokens, best, outcome.times)
        return result if best.attention is None else self._explained(work, result, best.attention)

    def _explained(
        self, work: ModelJob, result: SentenceResult, attention: Matrix
    ) -> SentenceResult:
        """The sentence with its alignment, and with confidence if that is calibrated."""
        source, target = result.source, result.target
        source_spans = self._tokenizer.source_spans(source, work.target, work.source)
        target_spans = self._tokenizer.target_spans(result.best.ids)
        links = link_words(source, target, source_spans, target_spans, attention)
        confidence = None
        if calibration := self._confidence.get((work.source, work.target)):
            log_probs, num_source = result.best.log_probs, len(source_spans)
            confidence = rate(calibration, target, target_spans, log_probs, num_source)
        return dataclasses.replace(result, alignment=links, confidence=confidence)
