"""Assemble the translations of texts from the outcomes of their sentences."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.sentence import Hypothesis
from service.engine.interfaces import Tokenizer
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink, link_words
from service.translation.job import ModelJob
from service.translation.results import SentenceResult, TranslationResult
from service.translation.segmentation import Document


class Assembly:
    """Joins the translated sentences of the model `name`. Any thread may call it."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self._name, self._tokenizer = name, tokenizer

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
        links = None if best.attention is None else self._links(work, source, target, best)
        return SentenceResult(source, target, tokens, best, outcome.times, links)

    def _links(
        self, work: ModelJob, source: str, target: str, best: Hypothesis
    ) -> list[AlignmentLink]:
        assert best.attention is not None
        source_spans = self._tokenizer.source_spans(source, work.target, work.source)
        target_spans = self._tokenizer.target_spans(best.ids)
        return link_words(source, target, source_spans, target_spans, best.attention)
