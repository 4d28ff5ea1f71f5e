"""Read a sentence's translation from what the engine gave for it, and see that nothing is lost.

A sentence is decoded whole, with carriers for its kept strings. If one of these is lost, the
sentence is decoded in parts: the text between the kept strings, each part by itself. If a number is
lost or wrong, it is decoded again with carriers for its numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model.decoding.sentence import Hypothesis
from model.text.words import words
from service.engine.interfaces import Tokenizer
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink, link_words
from service.translation.alternative_links import links_of_alternative
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.language.segmentation import has_digits, has_letters, is_spaced
from service.translation.markup.flow import MARK
from service.translation.placeholders import occurs
from service.translation.text.amounts import Amount
from service.translation.text.carriers import (
    CarriedText,
    MarkedTranslation,
    Slot,
    between,
    slots_of,
)
from service.translation.text.document import MarkedSentence

_FINAL_MARKS = ".!?。！？"
_EDGES = " \t\n\r\u00a0\u3000()[]\"'“”„‚‘’«»‹›"
"""What of a part beside a kept string is written as it is: a network loses half of a pair."""
_MARKS_BETWEEN_SPACES = str.maketrans("，。、；：？！（）", ",.,;:?!()")


@dataclass(frozen=True)
class PlannedSentence:
    """A sentence and the texts that the engine gets for it: itself, carried, or its parts between
    kept strings and `amounts`."""

    sentence: MarkedSentence
    texts: Sequence[CarriedText]
    is_in_parts: bool = False
    amounts: Sequence[Amount] = ()


@dataclass(frozen=True)
class Reading:
    """A sentence's translations, best first, and the tokens, scores and times of the best.

    `num_wrong`: how many numbers the best has lost or added; `has_amounts`: whether numbers were
    carried.
    """

    sentence: MarkedSentence
    versions: Sequence[MarkedTranslation]
    best: Hypothesis
    times: SentenceOutcome
    num_wrong: int = 0
    has_amounts: bool = False


class Reader:
    """Reads translations of one model between two of its languages."""

    def __init__(self, tokenizer: Tokenizer, source: str, target: str) -> None:
        self._tokenizer, self._source, self._target = tokenizer, source, target

    def read(self, planned: PlannedSentence, outcomes: Sequence[SentenceOutcome]) -> Reading | None:
        """The translation; None if a kept string was lost. Raises the error of a failed sentence.

        `outcomes` are those of the planned texts.
        """
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        if planned.is_in_parts:
            return self._read_parts(planned, outcomes)
        (carried,), (outcome,) = planned.texts, outcomes
        versions = list(self._versions(planned.sentence, carried, outcome))
        if versions[0] is None:
            return None
        whole = [version for version in versions if version is not None]
        return Reading(
            planned.sentence,
            whole,
            outcome.hypotheses[0],
            outcome,
            _num_wrong(planned.sentence.text, whole[0].text),
            carried.has_amounts,
        )

    def _versions(
        self, sentence: MarkedSentence, carried: CarriedText, outcome: SentenceOutcome
    ) -> Iterator[MarkedTranslation | None]:
        """The hypotheses. Only the best is aligned: with tags the others take over its links."""
        best = outcome.hypotheses[0]
        best_links: Sequence[AlignmentLink] = ()
        for hypothesis in outcome.hypotheses:
            target = self._tokenizer.decode(hypothesis.ids)
            if hypothesis is best:
                links = best_links = self._links(carried.text, target, best)
            else:
                links = self._moved(best, best_links, hypothesis) if sentence.tags else ()
            translation = carried.restore(target, links, self._source, self._target)
            if translation is not None and _has_more(sentence, translation.text):
                translation = None
            yield translation

    def _read_parts(self, planned: PlannedSentence, outcomes: Sequence[SentenceOutcome]) -> Reading:
        sentence = planned.sentence
        translated, carried = iter(outcomes), iter(planned.texts)
        joined = _Joined(is_spaced(self._target) and not is_spaced(self._source))
        slots = slots_of(sentence.text, planned.amounts)
        for slot, part in zip([None, *slots], between(sentence.text, slots), strict=True):
            if slot is not None:
                joined.add_slot(slot)
            if has_letters(part):
                best = next(translated).hypotheses[0]
                joined.add(part, *self._part(sentence, part, next(carried).text, best))
            else:
                joined.add(part, self._marks(part), ())
        best, times = _summed(outcomes)
        translation = joined.translation()
        num_wrong = _num_wrong(sentence.text, translation.text)
        has_amounts = bool(planned.amounts)
        return Reading(sentence, [translation], best, times, num_wrong, has_amounts)

    def _marks(self, part: str) -> str:
        """A part without letters, with the marks of the target."""
        return part.translate(_MARKS_BETWEEN_SPACES) if is_spaced(self._target) else part

    def _part(
        self, sentence: MarkedSentence, part: str, text: str, best: Hypothesis
    ) -> tuple[str, Sequence[AlignmentLink]]:
        """A part's translation and its links; `text` is what the network got of it. A part whose
        translation has a kept string more than it should have stays as it is."""
        target = self._tokenizer.decode(best.ids)
        links = self._links(text, target, best)
        body = target if text[-1] in _FINAL_MARKS else target.rstrip(_FINAL_MARKS)
        if not body or _has_more(sentence, body):
            return part, ()
        start = len(part) - len(part.lstrip(_EDGES))
        moved = [
            AlignmentLink(
                link[0] + start, link[1] + start, link[2] + start, link[3] + start, link[4]
            )
            for link in links
            if link.target_end <= len(body)
        ]
        return part[:start] + body + part[start + len(text) :], moved

    def _links(self, text: str, target: str, hypothesis: Hypothesis) -> Sequence[AlignmentLink]:
        """The words that translate each other, if the sentence was aligned."""
        if hypothesis.attention is None:
            return ()
        return link_words(
            text,
            target,
            self._tokenizer.source_spans(text, self._target, self._source),
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


def _num_wrong(source: str, target: str) -> int:
    """How many numbers one has and the other has not, if the source has any in digits."""
    if not has_digits(source):
        return 0
    lost, added = unmatched(find_numbers(source), find_numbers(target))
    return len(lost) + len(added)


def parts_of(sentence: MarkedSentence, amounts: Sequence[Amount] = ()) -> list[str]:
    """The stretches between the kept strings and `amounts` that have letters, without the space
    and brackets around them."""
    parts = between(sentence.text, slots_of(sentence.text, amounts))
    return [part.strip(_EDGES) for part in parts if has_letters(part)]


class _Joined:
    """A translation that grows part by part, with its links."""

    def __init__(self, is_padded: bool) -> None:
        """`is_padded`: the target has spaces between words, which the source has not."""
        self._is_padded = is_padded
        self._text = ""
        self._is_after_slot = False
        self._source_length = self._num_marks = 0
        self._links: list[AlignmentLink] = []

    def add_slot(self, slot: Slot) -> None:
        """Add a mark or number."""
        if self._is_padded and self._text[-1:].isalpha():
            self._text += " "
        at, start = len(self._text), self._source_length
        end = start + slot.end - slot.start
        self._links.append(AlignmentLink(start, end, at, at + len(slot.target), 1.0))
        self._text += slot.target
        self._source_length = end
        self._num_marks += slot.target.count(MARK)
        self._is_after_slot = True

    def add(self, source: str, target: str, links: Sequence[AlignmentLink]) -> None:
        """Add a part; `links` are in offsets of `source` and `target`."""
        if self._is_padded and self._is_after_slot and target[:1].isalpha():
            self._text += " "
        self._is_after_slot = self._is_after_slot and not target
        for a, b, c, d, weight in links:
            start, at = self._source_length, len(self._text)
            self._links.append(AlignmentLink(start + a, start + b, at + c, at + d, weight))
        self._text += target
        self._source_length += len(source)

    def translation(self) -> MarkedTranslation:
        return MarkedTranslation(self._text, range(self._num_marks), self._links)


def _has_more(sentence: MarkedSentence, text: str) -> bool:
    """Whether a kept string stands in the translation besides its marks, and not in the source."""
    return any(
        occurs(kept.text, text) and not occurs(kept.text, sentence.text) for kept in sentence.kept
    )


def _summed(outcomes: Sequence[SentenceOutcome]) -> tuple[Hypothesis, SentenceOutcome]:
    """The parts as one hypothesis, with the mean score, and the times of the last."""
    bests = [outcome.hypotheses[0] for outcome in outcomes]
    last = max(outcomes, key=lambda outcome: outcome.ended)
    unfinished = (best.finish_reason for best in bests if best.finish_reason != "stop")
    summed = dataclasses.replace(
        bests[0],
        ids=[token for best in bests for token in best.ids],
        log_probs=[value for best in bests for value in best.log_probs],
        score=sum(best.score for best in bests) / len(bests),
        finish_reason=next(unfinished, "stop"),
    )
    return summed, last
