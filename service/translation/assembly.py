"""Read the translations of a job's sentences, see what they lost, and assemble its texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from model.decoding.confidence import Calibration
from model.decoding.sentence import Hypothesis
from model.text.words import words
from service.engine.sentence_task import SentenceOutcome
from service.translation.alignment import AlignmentLink, link_words, links_of_alternative
from service.translation.checks.differences import (
    Check,
    check_omitted,
    check_sentence,
    check_terms,
    lost_of_calendar,
)
from service.translation.checks.half_days import lost_halves
from service.translation.checks.number_words import HAS_NUMBERS
from service.translation.checks.numbers import Numbers, find_numbers, unmatched
from service.translation.checks.omissions import omitted
from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.confidence import SentenceConfidence, rate
from service.translation.job import ModelJob
from service.translation.language.segmentation import has_letters, is_spaced, letters
from service.translation.markup.coded_text import CodedText, Text, TextPart, plain_text
from service.translation.markup.flow import MARK
from service.translation.preparation import Preparation
from service.translation.results import SentenceResult, TranslationResult
from service.translation.second_translation import KEPT_LOST, num_copied, num_named, num_parted
from service.translation.sentence.entering import Entry
from service.translation.sentence.first_letter import with_first_capital
from service.translation.sentence.labels import has_lost_label
from service.translation.sentence.latin import (
    keeps_latin,
    lost_codes,
    lost_latin,
    may_tear,
    tears_latin,
    torn_acronyms,
    torn_latin,
)
from service.translation.sentence.numbers.kitchen_units import parted_units
from service.translation.sentence.parsed_text import ParsedText, Sentence
from service.translation.sentence.quotations import QUOTATION_MARK, lost_marks
from service.translation.sentence.rendering import read, read_links, render
from service.translation.sentence.stages import Draft, leave
from service.translation.text_work import raise_if_unwanted

_DIGIT_OR_CARRIER = re.compile("[0-9⟦]")
_JOINED = re.compile(rf"{MARK} ?(?={MARK})")


class Assembly:
    """The texts of one job, and the results of their sentences as they come. One thread at a time
    may call it."""

    def __init__(
        self,
        preparation: Preparation,
        parsed_texts: Sequence[ParsedText],
        entries: Sequence[Entry],
        model: str,
        calibration: Calibration | None,
    ) -> None:
        """`entries`: of the sentences, in order; `calibration`: how to rate translations, if the
        pair was measured."""
        self.work, self.parsed_texts, self.entries = preparation.work, parsed_texts, entries
        self.sentences = [sentence for parsed in parsed_texts for sentence in parsed.sentences]
        self.sources = [entry.source for entry in entries]
        """The sentences for the engine, in their order."""
        self.again: dict[int, Entry] = {}
        """By number the sentences to be translated once more."""
        self._preparation, self._tokenizer = preparation, preparation.tokenizer
        self._model, self._calibration = model, calibration
        self._results: dict[Sentence, SentenceResult] = {}

    def read(self, outcomes: Iterable[SentenceOutcome]) -> list[TranslationResult]:
        """Read all sentences, in their order -> the results; none yet if a sentence is to be
        translated once more. Raises the error of a failed sentence."""
        for number, outcome in enumerate(outcomes):
            self.read_one(number, outcome)
        return [] if self.again else self.results()

    def read_one(self, number: int, outcome: SentenceOutcome) -> None:
        """Read a sentence, and let it enter again if it lost something. Raises its error."""
        sentence, entry = self.sentences[number], self.entries[number]
        result = self._results[sentence] = self._read(sentence, entry, outcome)
        if result.faults or entry.is_title:
            again = self._preparation.second_translation
            second = again.entry(number, sentence, entry, result.faults, result.drafts[0].text)
            if second is not None:
                self.again[number] = second

    def read_again(self, outcomes: Sequence[SentenceOutcome]) -> None:
        """Read those that entered again, and keep the better translation of each."""
        for (number, entry), outcome in zip(self.again.items(), outcomes, strict=True):
            sentence = self.sentences[number]
            results = [self._results[sentence], self._read(sentence, entry, outcome, is_again=True)]
            doubts = _title_doubts if entry.is_in_small_letters else _doubts
            self._results[sentence] = min(results, key=doubts)
        self.again = {}

    def results(self) -> list[TranslationResult]:
        """One result for each text, when all sentences are read."""
        pairs = zip(self.work.texts, self.parsed_texts, strict=True)
        return [self._result(text, parsed) for text, parsed in pairs]

    def is_complete(self, outer: Sentence) -> bool:
        """Whether an outer sentence and the sentences inside are read."""
        return all(needed in self._results for needed in outer.within())

    def rendered(self, outer: Sentence, rank: int = 0) -> list[TextPart]:
        """The translation of a complete sentence as it is written: the draft of this rank,
        or the last that a sentence has."""
        raise_if_unwanted()
        attributes = {inner: self.rendered(inner, rank) for inner in outer.attributes}
        return render(outer, self._draft(outer, rank), attributes)

    def _draft(self, sentence: Sentence, rank: int) -> Draft:
        drafts = self._results[sentence].drafts
        return drafts[min(rank, len(drafts) - 1)]

    def _result(self, text: Text, parsed: ParsedText) -> TranslationResult:
        results = [self._results[sentence] for sentence in parsed.sentences]
        coded = None
        if parsed.is_one_sentence and isinstance(text, str):
            texts = [draft.text for draft in results[0].drafts]
        else:
            num_drafts = max((len(result.drafts) for result in results), default=1)
            translations = [
                parsed.join([self.rendered(outer, rank) for outer in parsed.outer_sentences])
                for rank in range(num_drafts)
            ]
            texts = [*map(plain_text, translations)]
            coded = CodedText.of(translations[0]) if isinstance(text, CodedText) else None
        best, *others = _without_likes(texts) if len(texts) > 1 else texts
        return TranslationResult(
            text=best,
            alternatives=others,
            sentences=[*results],
            model=self._model,
            coded=coded,
        )

    def _read(
        self,
        sentence: Sentence,
        entry: Entry,
        outcome: SentenceOutcome,
        *,
        is_again: bool = False,
    ) -> SentenceResult:
        """The result of a sentence; of one that is translated again the hypothesis that lost
        least comes first. No other that counts lost more than the first."""
        raise_if_unwanted()
        if outcome.error is not None:
            raise outcome.error
        hypotheses = outcome.hypotheses
        drafts: list[Draft | None] = []
        faults: list[float] = []
        is_one_enough = is_again and self.work.options.n_best == 1
        num_faults = fault_counter(sentence, self.work)
        is_counted = _DIGIT_OR_CARRIER.search(entry.text) is not None
        for draft in self._drafts(sentence, entry, hypotheses):
            drafts.append(draft)
            faults.append(num_faults(draft) + 2 * (is_counted and _lacks_words(entry.text, draft)))
            if is_one_enough and not faults[-1]:
                break
        ranks = list(range(len(drafts)))
        if is_again:
            ranks.sort(key=lambda rank: faults[rank])
        first, job = ranks[0], self.work.job
        best, draft = hypotheses[first], drafts[first]
        draft = draft or self._completed(sentence, entry, best)
        others = (drafts[rank] for rank in ranks[1:] if faults[rank] <= faults[first])
        if is_again and faults[first] == KEPT_LOST and self._only_doubles(entry, best):
            faults[first] = 1 + num_faults(draft)
        rated = self._confidence(sentence, draft, best) if job.is_aligned else None
        return SentenceResult(
            sentence=sentence,
            drafts=[draft, *(one for one in others if one is not None)][: self.work.options.n_best],
            faults=faults[first],
            source=sentence.read(),
            target=read(sentence, draft),
            ids=best.ids,
            tokens=self._tokenizer.pieces(best.ids),
            log_probs=best.log_probs,
            score=best.score,
            finish_reason=best.finish_reason,
            times=outcome,
            alignment=list(read_links(sentence, draft)) if job.is_aligned else [],
            confidence=rated.sentence if rated else None,
            words=rated.words if rated else None,
            checks=self._checks(sentence, draft, best) if job.is_checked else [],
        )

    @property
    def sets_first_letters(self) -> bool:
        """Whether the target begins sentences with capitals, and no beginning was given."""
        return is_spaced(self.work.target) and not self.work.job.prefixes

    def _drafts(
        self, sentence: Sentence, entry: Entry, hypotheses: Sequence[Hypothesis]
    ) -> Iterator[Draft | None]:
        """The hypotheses, None for those that are empty, or lost or doubled a kept string. Only the
        best is aligned: the others take over its links."""
        best = hypotheses[0]
        best_links: Sequence[AlignmentLink] = ()
        for hypothesis in hypotheses:
            target = self._written(sentence, hypothesis)
            links: Sequence[AlignmentLink] = ()
            if hypothesis is not best:
                links = self._moved(best, best_links, hypothesis) if best_links else ()
            elif best.attention is not None:
                links = best_links = self._links(entry.text, target, best)
            is_lost = not target.strip() or (bool(sentence.kept) and entry.carriers is None)
            draft = Draft(target, links)
            yield None if is_lost else leave(entry.stages, draft) if entry.stages else draft

    def _written(self, sentence: Sentence, hypothesis: Hypothesis) -> str:
        """What the network wrote, with the first letter that the sentence needs."""
        target = self._tokenizer.decode(hypothesis.ids)
        if target[:1].islower() and sentence.begins and self.sets_first_letters:
            return with_first_capital(target, sentence.text, ends=sentence.ends)
        return target

    def _only_doubles(self, entry: Entry, best: Hypothesis) -> bool:
        """Whether a translation lost no kept string, but has one twice."""
        carriers = entry.carriers
        return carriers is not None and carriers.has_all(self._tokenizer.decode(best.ids))

    def _completed(self, sentence: Sentence, entry: Entry, best: Hypothesis) -> Draft:
        """The translation with each kept string once; the sentence itself if that is empty."""
        target = self._written(sentence, best)
        if not target.strip():
            return _untranslated(sentence)
        completed = entry.carriers.completed(target) if entry.carriers else target
        links = self._links(entry.text, target, best) if completed == target else ()
        return leave(entry.stages, Draft(completed, links)) or _untranslated(sentence)

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
        self, sentence: Sentence, draft: Draft, best: Hypothesis
    ) -> SentenceConfidence | None:
        """The confidence of a sentence that reads as the network wrote it; None if the pair is not
        calibrated."""
        written = self._tokenizer.decode(best.ids)
        is_as_written = draft.text.casefold().split() == written.casefold().split()
        if self._calibration is None or sentence.is_in_capitals or not is_as_written:
            return None
        return rate(
            self._calibration,
            draft.text,
            self._tokenizer.target_spans(best.ids),
            best.log_probs,
            len(self._tokenizer.source_spans(sentence.text, self.work.target, self.work.source)),
        )

    def _checks(self, sentence: Sentence, draft: Draft, best: Hypothesis) -> list[Check]:
        target = read(sentence, draft)
        found = check_sentence(
            sentence.read(),
            target,
            (self.work.source, self.work.target),
            _tags(sentence, draft),
            is_complete=best.finish_reason == "stop",
        )
        words = omitted(sentence.text, draft.links, self.work.source)
        more = check_terms(draft.lost), check_omitted(words)
        return [*found, *(check for check in more if check)]


def _tags(sentence: Sentence, draft: Draft) -> tuple[str, str]:
    """What a sentence with tags and its translation are written with."""
    if not sentence.tags:
        return "", ""
    kept = (sentence.kept_items.get(at, one.written) for at, one in enumerate(sentence.kept))
    written = [*sentence.tag_items, *kept]
    tags = [item for items in written for item in items if isinstance(item, str)]
    return "".join(tags), plain_text(
        render(sentence, draft, dict.fromkeys(sentence.attributes, ()))
    )


def _untranslated(sentence: Sentence) -> Draft:
    links = [AlignmentLink(*word, *word, 1.0) for word in words(sentence.text, ())]
    return Draft(sentence.text, links, range(len(sentence.kept)))


def fault_counter(sentence: Sentence, work: ModelJob) -> Callable[[Draft | None], float]:
    """Counts what a translation lost: terms, codes, Latin words if it keeps them, letters of names,
    words between kept strings, units, signs of currencies, quotation marks, amounts in a copy,
    dates, days, hours, and numbers that only one side has, lost ones twice; KEPT_LOST if a kept
    string was lost or doubled."""
    text, pair = sentence.text, (work.source, work.target)
    has_numbers = has_spoken_numbers(text, work.source) or HAS_NUMBERS.search(text) is not None
    numbers = find_numbers(text) if has_numbers else None
    has_latin, has_torn = not text.isascii() and keeps_latin(*pair), tears_latin(*pair)
    has_acronyms = not sentence.is_plain and may_tear(text)
    has_others = has_latin or has_torn or has_acronyms or QUOTATION_MARK.search(text) is not None
    if numbers is None and not (has_others or sentence.kept):
        return _num_lost
    return functools.partial(
        _num_faults, sentence, pair, numbers, has_latin=has_latin, has_torn=has_torn
    )


def _num_lost(draft: Draft | None) -> float:
    """Twice the terms that the translation lost."""
    return KEPT_LOST if draft is None else 2 * len(draft.lost)


def _num_faults(
    sentence: Sentence,
    pair: tuple[str, str],
    numbers: Numbers | None,
    draft: Draft | None,
    *,
    has_latin: bool,
    has_torn: bool,
) -> float:
    """`numbers`: those of the sentence, None without; `has_latin`: it may have Latin words that
    its translation keeps; `has_torn`: or that it has parts of."""
    if draft is None:
        return KEPT_LOST
    num_faults = 2 * len(draft.lost) + lost_marks(sentence.text, draft.text, pair)
    if sentence.kept:
        num_faults += max(0, _num_joined(draft.text) - _num_joined(sentence.text))
        num_faults += num_parted(sentence, draft) + num_named(sentence, draft)
    if has_latin:
        num_faults += 2 * lost_latin(sentence.text, draft.text)
    if has_torn:
        num_faults += 2 * len(torn_latin(sentence.text, draft.text))
    elif not has_latin:
        num_faults += 2 * len(torn_acronyms(sentence.text, draft.text, pair[0]))
    if numbers is not None:
        num_faults += num_copied(sentence, draft, pair)
        lost, added = unmatched(numbers, find_numbers(draft.text))
        texts = sentence.text, draft.text
        num_wholes = len(lost_of_calendar(*texts, pair)) + len(lost_halves(*texts, pair))
        num_codes = 0 if has_latin else len(lost_codes(*texts))
        num_codes += parted_units(*texts, pair) + has_lost_label(*texts, pair)
        num_faults += 2 * len(lost) + len(added) + 2 * (num_wholes + num_codes)
    return num_faults


def _lacks_words(read: str, draft: Draft | None) -> bool:
    """Whether only digits and kept strings are left of words and others that the network read; a
    single letter may be that of a unit."""
    return draft is not None and not has_letters(draft.text) and len(letters(read)) > 1


def _num_joined(text: str) -> int:
    """How many marks of kept strings follow others without a word between."""
    return len(_JOINED.findall(text))


def _doubts(result: SentenceResult) -> float:
    return result.faults


def _title_doubts(result: SentenceResult) -> tuple[float, float]:
    """The faults of a translation, and how unsure the network is of it."""
    log_probs = result.log_probs
    return result.faults, -sum(log_probs) / len(log_probs)


def _without_likes(texts: Iterable[str]) -> Iterable[str]:
    """The texts in their order, without those that differ from an earlier one in spaces only."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault("".join(text.split()), text)
    return found.values()
