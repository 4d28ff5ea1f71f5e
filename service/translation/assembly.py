"""Assemble the translations of texts from the readings of their sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from model.confidence import Calibration
from service.engine.interfaces import Tokenizer
from service.translation.checks.differences import (
    Check,
    CheckedSentence,
    check_sentence,
    check_terms,
)
from service.translation.confidence import SentenceConfidence, rate
from service.translation.job import ModelJob
from service.translation.results import SentenceResult, TranslationResult
from service.translation.text.carriers import MarkedTranslation
from service.translation.text.document import Document, MarkedSentence
from service.translation.text.reading import Reading
from service.translation.text.rendering import read, read_links, render


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
        self, work: ModelJob, documents: Sequence[Document], readings: Sequence[Reading]
    ) -> list[TranslationResult]:
        """One result per document; `readings` are those of all sentences, in order."""
        remaining = iter(readings)
        return [
            self._result(work, index, document, [next(remaining) for _ in document.sentences])
            for index, document in enumerate(documents)
        ]

    def _result(
        self, work: ModelJob, index: int, document: Document, readings: Sequence[Reading]
    ) -> TranslationResult:
        num_versions = max((len(reading.versions) for reading in readings), default=1)
        versions = [_joined(document, readings, rank) for rank in range(num_versions)]
        best, *others = dict.fromkeys(versions)
        sentences = [self._sentence(work, reading) for reading in readings]
        return TranslationResult(
            best, others, sentences, self._name, work.detections[index], work.pivots[index]
        )

    def _sentence(self, work: ModelJob, reading: Reading) -> SentenceResult:
        sentence, best = reading.sentence, reading.versions[0]
        is_as_decoded = sentence.is_as_decoded and not reading.has_amounts
        is_rated = work.is_aligned and is_as_decoded
        return SentenceResult(
            sentence.read(),
            read(sentence, best),
            self._tokenizer.pieces(reading.best.ids),
            reading.best,
            reading.times,
            read_links(sentence, best) if work.is_aligned else None,
            self._confidence_of(work, reading) if is_rated else None,
            checks=_checks(work, reading) if work.is_checked else (),
        )

    def _confidence_of(self, work: ModelJob, reading: Reading) -> SentenceConfidence | None:
        """The confidence of a sentence that reads as the network wrote it; None if the pair is not
        calibrated."""
        calibration = self._confidence.get((work.source, work.target))
        if calibration is None:
            return None
        text = reading.sentence.text
        return rate(
            calibration,
            reading.versions[0].text,
            self._tokenizer.target_spans(reading.best.ids),
            reading.best.log_probs,
            len(self._tokenizer.source_spans(text, work.target, work.source)),
        )


def _checks(work: ModelJob, reading: Reading) -> list[Check]:
    sentence, best = reading.sentence, reading.versions[0]
    tags = [item for items in sentence.tag_items for item in items if isinstance(item, str)]
    attributes = {unit: "" for unit in sentence.attributes}
    target = read(sentence, best)
    found = check_sentence(
        CheckedSentence(
            sentence.read(),
            target,
            work.source,
            work.target,
            source_tags="".join(tags),
            target_tags=render(sentence, best, attributes) if tags else "",
            is_complete=reading.best.finish_reason == "stop",
        )
    )
    return [*found, *_lost_terms(work, sentence, target)]


def _lost_terms(work: ModelJob, sentence: MarkedSentence, target: str) -> list[Check]:
    """One check if the translation lacks terms of the glossary that stand in the sentence."""
    if work.glossary is None:
        return []
    matcher = work.glossary.matcher(work.source)
    matches = matcher.find(sentence.text, ignores_case=sentence.is_in_capitals)
    entries = [match.entry for match in matches]
    sources, targets = [one.source for one in entries], [one.target for one in entries]
    lost = check_terms(sources, targets, target)
    return [lost] if lost else []


def _joined(document: Document, readings: Sequence[Reading], rank: int) -> str:
    """The document with the versions of this rank, or the last that a sentence has."""
    translations = {
        reading.sentence: reading.versions[min(rank, len(reading.versions) - 1)]
        for reading in readings
    }
    return document.join([rendered(unit, translations) for unit in document.units])


def rendered(unit: MarkedSentence, translations: Mapping[MarkedSentence, MarkedTranslation]) -> str:
    """A unit's translation as it is written, with the attributes of its tags."""
    attributes = {
        sentence: render(sentence, translations[sentence], {}) for sentence in unit.attributes
    }
    return render(unit, translations[unit], attributes)
