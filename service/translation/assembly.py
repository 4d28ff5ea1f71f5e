"""Read the translations of a job's sentences, see what they lost, and assemble its texts.

A sentence is decoded with carriers for its kept strings. If its translation lost one of them, a
number or a term, the sentence is decoded once more, with carriers for its numbers and terms too,
and the better of the two translations counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from model.decoding.confidence import Calibration
from model.decoding.sentence import Hypothesis, SourceSentence
from model.text.words import words
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink, link_words, links_of_alternative
from service.translation.checks.differences import (
    Check,
    check_omitted,
    check_sentence,
    check_terms,
)
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.checks.omissions import omitted
from service.translation.confidence import SentenceConfidence, rate
from service.translation.language.segmentation import has_digits
from service.translation.placeholders import occurs
from service.translation.preparation import Preparation
from service.translation.results import Faults, SentenceResult, TranslationResult
from service.translation.sentence.capitals import match_case
from service.translation.sentence.carriers import MarkedText
from service.translation.sentence.document import Document, Sentence
from service.translation.sentence.rendering import read, read_links, render
from service.translation.sentence.terms import lacks, place_terms
from service.translation.text_work import go_on


class Assembly:
    """The texts of one job, and the results of their sentences as they come. One thread at a time
    may call it."""

    def __init__(
        self,
        preparation: Preparation,
        documents: Sequence[Document],
        model: str,
        calibration: Calibration | None,
    ) -> None:
        """`calibration`: how to rate translations, if the pair was measured."""
        self.work, self.documents = preparation.work, documents
        self.sentences = [sentence for document in documents for sentence in document.sentences]
        self.to_retry: list[Sentence] = []
        """Sentences to be translated once more."""
        self._preparation, self._tokenizer = preparation, preparation.tokenizer
        self._model, self._calibration = model, calibration
        self._results: dict[Sentence, SentenceResult] = {}

    @property
    def sources(self) -> list[SourceSentence]:
        """The sentences for the engine, in their order."""
        return [source for sentence in self.sentences if (source := sentence.source)]

    def read(self, sentences: Sequence[Sentence], outcomes: Sequence[SentenceOutcome]) -> None:
        """Read the sentences, and prepare those that `lost` something once more. Raises the error
        of a failed sentence."""
        for sentence, outcome in zip(sentences, outcomes, strict=True):
            result = self._results[sentence] = self._read(sentence, outcome)
            is_open = any(result.faults) or sentence.is_title
            if is_open and self._preparation.prepare_again(sentence, result.faults):
                self.to_retry.append(sentence)

    def read_again(self, outcomes: Sequence[SentenceOutcome]) -> None:
        """Read those that lost something, and keep the better translation of each."""
        for sentence, outcome in zip(self.to_retry, outcomes, strict=True):
            results = self._results[sentence], self._read(sentence, outcome, is_again=True)
            self._results[sentence] = min(results, key=_doubts)
        self.to_retry = []

    def results(self) -> list[TranslationResult]:
        """One result for each text, when all sentences are read."""
        return [self._result(document) for document in self.documents]

    def is_complete(self, unit: Sentence) -> bool:
        """Whether a unit and the sentences in attributes of its tags are read."""
        return all(needed in self._results for needed in (unit, *unit.attributes))

    def rendered(self, unit: Sentence, rank: int = 0) -> str:
        """The translation of a complete unit as it is written: the version of this rank, or the
        last that a sentence has."""
        go_on()
        attributes = {
            sentence: render(sentence, self._version(sentence, rank), {})
            for sentence in unit.attributes
        }
        return render(unit, self._version(unit, rank), attributes)

    def _version(self, sentence: Sentence, rank: int) -> MarkedText:
        versions = self._results[sentence].versions
        return versions[min(rank, len(versions) - 1)]

    def _result(self, document: Document) -> TranslationResult:
        results = [self._results[sentence] for sentence in document.sentences]
        num_versions = max((len(result.versions) for result in results), default=1)
        versions = (
            document.join([self.rendered(unit, rank) for unit in document.units])
            for rank in range(num_versions)
        )
        best, *others = _without_likes(versions)
        return TranslationResult(best, others, results, self._model)

    def _read(
        self, sentence: Sentence, outcome: SentenceOutcome, *, is_again: bool = False
    ) -> SentenceResult:
        """The result of a sentence; of one that is translated again the hypothesis that lost
        least comes first."""
        go_on()
        if outcome.error is not None:
            raise outcome.error
        hypotheses = outcome.hypotheses
        versions = list(self._versions(sentence, hypotheses))
        ranks = list(range(len(hypotheses)))
        if is_again:
            ranks.sort(key=lambda rank: self._faults(sentence, versions[rank]))
        first, job = ranks[0], self.work.job
        best, version = hypotheses[first], versions[first]
        faults = self._faults(sentence, version)
        version = version or self._completed(sentence, best)
        others = (versions[rank] for rank in ranks[1 : self.work.options.n_best])
        return SentenceResult(
            sentence,
            [version, *(one for one in others if one is not None)],
            faults,
            sentence.read(),
            read(sentence, version),
            self._tokenizer.pieces(best.ids),
            best,
            outcome,
            read_links(sentence, version) if job.is_aligned else None,
            self._confidence(sentence, version, best) if job.is_aligned else None,
            self._checks(sentence, version, best) if job.is_checked else (),
        )

    def _versions(
        self, sentence: Sentence, hypotheses: Sequence[Hypothesis]
    ) -> Iterator[MarkedText | None]:
        """The hypotheses, None for those that lost or doubled a kept string. Only the best is
        aligned: the others take over its links."""
        best = hypotheses[0]
        best_links: Sequence[AlignmentLink] = ()
        for hypothesis in hypotheses:
            target = self._tokenizer.decode(hypothesis.ids)
            if hypothesis is best:
                links = best_links = self._links(sentence.carried, target, best)
            else:
                links = self._moved(best, best_links, hypothesis) if best_links else ()
            version = self._restored(sentence, target, links)
            yield None if version is None or _has_more(sentence, version.text) else version

    def _faults(self, sentence: Sentence, version: MarkedText | None) -> Faults:
        if version is None:
            return True, 0
        num_lost = len(lacks(sentence.terms, version.text, self.work.target))
        return False, 2 * num_lost + _num_wrong(sentence.text, version.text)

    def _restored(
        self, sentence: Sentence, target: str, links: Sequence[AlignmentLink]
    ) -> MarkedText | None:
        version: MarkedText | None = MarkedText(target, (), links)
        if sentence.carriers is not None:
            version = sentence.carriers.restore(target, links, self.work.source, self.work.target)
        if version is None or sentence.source is None:
            return None
        if sentence.asked_in_lower_case:
            version = version._replace(text=match_case(version.text, sentence.text))
        begin = len(self._tokenizer.decode(sentence.source.prefix)) if self.work.job.prefixes else 0
        return place_terms(sentence.marked, sentence.terms, version, self.work.target, begin)

    def _completed(self, sentence: Sentence, best: Hypothesis) -> MarkedText:
        """The translation with each kept string once."""
        target = self._tokenizer.decode(best.ids)
        completed = target if sentence.carriers is None else sentence.carriers.completed(target)
        links = self._links(sentence.carried, target, best) if completed == target else ()
        return self._restored(sentence, completed, links) or _untranslated(sentence)

    def _links(self, text: str, target: str, hypothesis: Hypothesis) -> Sequence[AlignmentLink]:
        """The words that translate each other, if the sentence was aligned."""
        if hypothesis.attention is None:
            return ()
        return link_words(
            text,
            target,
            self._tokenizer.source_spans(text, self.work.target, self.work.source),
            self._tokenizer.target_spans(hypothesis.ids),
            hypothesis.attention,
        )

    def _moved(
        self, best: Hypothesis, links: Sequence[AlignmentLink], other: Hypothesis
    ) -> Sequence[AlignmentLink]:
        """The links of another hypothesis, taken from those of the best."""
        texts = [self._tokenizer.decode(one.ids) for one in (best, other)]
        spans = [self._tokenizer.target_spans(one.ids) for one in (best, other)]
        (text, other_text), (known, others) = texts, list(map(words, texts, spans))
        return links_of_alternative(text, known, links, other_text, others)

    def _confidence(
        self, sentence: Sentence, version: MarkedText, best: Hypothesis
    ) -> SentenceConfidence | None:
        """The confidence of a sentence that reads as the network wrote it; None if the pair is not
        calibrated."""
        written = self._tokenizer.decode(best.ids)
        is_as_written = version.text.casefold() == written.casefold()
        if self._calibration is None or sentence.is_in_capitals or not is_as_written:
            return None
        return rate(
            self._calibration,
            version.text,
            self._tokenizer.target_spans(best.ids),
            best.log_probs,
            len(self._tokenizer.source_spans(sentence.text, self.work.target, self.work.source)),
        )

    def _checks(self, sentence: Sentence, version: MarkedText, best: Hypothesis) -> list[Check]:
        tags = [item for items in sentence.tag_items for item in items if isinstance(item, str)]
        attributes = {unit: "" for unit in sentence.attributes}
        target = read(sentence, version)
        found = check_sentence(
            sentence.read(),
            target,
            (self.work.source, self.work.target),
            ("".join(tags), render(sentence, version, attributes) if tags else ""),
            is_complete=best.finish_reason == "stop",
        )
        lost = lacks(sentence.terms, target, self.work.target)
        words = omitted(sentence.text, version.links, self.work.source)
        more = check_terms(lost), check_omitted(words)
        return [*found, *(check for check in more if check)]


def _untranslated(sentence: Sentence) -> MarkedText:
    return MarkedText(sentence.text, range(len(sentence.kept)))


def _doubts(result: SentenceResult) -> tuple[Faults, float]:
    """The faults of a translation, and how unsure the network is of a title's."""
    log_probs = result.best.log_probs if result.sentence.asked_in_lower_case else ()
    return result.faults, -sum(log_probs) / max(1, len(log_probs))


def _without_likes(versions: Iterable[str]) -> Iterable[str]:
    """The versions in their order, without those that differ from an earlier one in spaces only."""
    found: dict[str, str] = {}
    for version in versions:
        found.setdefault("".join(version.split()), version)
    return found.values()


def _num_wrong(source: str, target: str) -> int:
    """How many numbers one has and the other has not, if the source has any in digits; those that
    were lost count twice."""
    if not has_digits(source):
        return 0
    lost, added = unmatched(find_numbers(source), find_numbers(target))
    return 2 * len(lost) + len(added)


def _has_more(sentence: Sentence, text: str) -> bool:
    """Whether a kept string stands in the translation besides its marks, and not in the source."""
    return any(
        occurs(kept.text, text) and not occurs(kept.text, sentence.text) for kept in sentence.kept
    )
