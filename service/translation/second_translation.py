"""Translate a sentence once more whose translation lost a kept string, a number or a term, and a
title.

Numbers and terms get carriers too then, and a title is in small letters. For the marks of a
quotation more hypotheses are looked at. The better of the two translations counts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping

import regex

from model.decoding.sentence_limits import SentenceLimits
from service.translation.checks.dated_weekdays import find_dated_days
from service.translation.checks.dates import Date
from service.translation.job import ModelJob
from service.translation.language.chinese import to_traditional
from service.translation.markup.flow import MARK
from service.translation.prefixes import Prefixes
from service.translation.sentence.acronyms import find_acronyms
from service.translation.sentence.carriers import Carriers
from service.translation.sentence.entering import Entrance, Entry, LastStage
from service.translation.sentence.latin import (
    find_latin,
    keeps_latin,
    lost_codes,
    tears_latin,
    torn_acronyms,
    torn_latin,
)
from service.translation.sentence.named import find_named
from service.translation.sentence.notation import enter_notation
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.numbers.bare_amounts import MEASURE
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.quotations import QUOTATION_MARK
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft
from service.translation.sentence.terms import spelled
from service.translation.sentence_encoder import SentenceEncoder

KEPT_LOST = math.inf
"""The faults of a translation that lost or doubled a kept string."""
_MARK_AFTER = regex.compile(rf"[ \u00a0]?{MARK}")
_DECIMAL = regex.compile(r"\d[.,]\d")
_CURRENCY = regex.compile(r"(?:[A-Z]{0,2}\p{Sc}|[A-Z]{3})\s?")
_MEASURE = regex.compile(rf"{MEASURE.pattern}|[×·] ?10\S+")
"""A currency sign, a unit or a power of ten."""
_MEASURED = regex.compile(rf"\d[ \u00a0]?{MARK}")
_NAMED = regex.compile(
    rf"{MARK}\s?\d[\d.,]*+(?:\s\p{{L}}++)?\s(?i:dollars?|euros?|pounds?|Pfund|Yen|yuan)\b"
)
"""An amount of a currency whose name follows."""
LEAST_BEAM = 8
"""The smallest beam of a second translation. The hypothesis with the fewest faults counts."""


class SecondTranslation:
    """Lets the sentences of one job enter for a second time."""

    def __init__(
        self,
        entrance: Entrance,
        encoder: SentenceEncoder,
        work: ModelJob,
        limits: SentenceLimits,
        prefixes: Prefixes | None,
    ) -> None:
        self._entrance, self._encoder, self._work = entrance, encoder, work
        self._prefixes = prefixes
        self._carries_amounts = entrance.has_reserved and work.can_repeat
        self._most_tokens, self._most_target = limits.max_source_tokens, limits.max_target_tokens
        self._beam_size = max(work.options.beam_size, min(LEAST_BEAM, limits.max_beam_size))

    def entry(
        self, number: int, sentence: Sentence, first: Entry, faults: float, target: str = ""
    ) -> Entry | None:
        """The sentence of this number as it enters again, whose first translation, `target`, has
        these faults; None if it need not or cannot. What a stream sends as it comes stays."""
        if first.is_title and not faults:
            title = self._entrance.enter_title(first)
            return title if len(title.source.ids) <= self._most_tokens else None
        was_sent = first.source.is_streamed and first.is_plain and sentence.is_bare
        if not faults or was_sent:
            return None
        stages = [s for s in first.stages if not isinstance(s, Carriers | LastStage)]
        text = stages[-1].text if stages else sentence.text
        is_begun = self._prefixes is not None and self._prefixes.begins(number)
        carriers = self._carry_amounts(sentence, first, text, target, is_begun=is_begun)
        if carriers is None and faults == KEPT_LOST:
            carriers = self._entrance.carried(sentence, text)
        if carriers is None and (sentence.kept or not QUOTATION_MARK.search(sentence.text)):
            return None
        options = dataclasses.replace(
            self._work.options, sampling=False, beam_size=self._beam_size, n_best=self._beam_size
        )
        if carriers is not None:
            stages.append(carriers)
            text = carriers.text
        stages += self._entrance.last_stages(text)
        text = stages[-1].text if stages else text
        ids = self._encoder.ids(text)
        prefix = self._prefixes.of(number, sentence, carriers) if self._prefixes else ()
        source = dataclasses.replace(
            first.source, ids=ids, options=options, prefix=prefix, is_streamed=False
        )
        has_room = len(prefix) < source.target_limit(self._most_target)
        return Entry(source, text, stages) if has_room else None

    def _carry_amounts(
        self, sentence: Sentence, first: Entry, text: str, target: str, *, is_begun: bool
    ) -> Carriers | None:
        """Carriers also for the numbers, terms and Latin words; None if these are more than the
        network tells apart or takes, or must not be carried. A required beginning may end between
        a number and its sign."""
        if not self._carries_amounts:
            return None
        found = first.terms.terms if first.terms else ()
        terms = [Replacement(one.start, one.end, spelled(one)) for one in found]
        amounts = self._amounts(sentence)
        units = self._entrance.units(sentence.text)
        amounts = amounts if is_begun else _with_signs(sentence, amounts, units)
        latin = [*self._latin(sentence, target)]
        others = [*latin, *(one for one in amounts if not _overlaps(one, latin))]
        others = [one for one in others if not _overlaps(one, terms)]
        carriers = self._entrance.carried(sentence, text, sorted([*terms, *others]))
        if carriers is None or self._entrance.count(carriers.text) > self._most_tokens:
            return None
        return carriers

    def _amounts(self, sentence: Sentence) -> Iterator[Replacement]:
        """The numbers as the translation writes them."""
        source, target = self._work.source, self._work.target
        parted = _parted_dates(sentence, source)
        for one in find_amounts(sentence.text, source, target):
            if date := parted.get(one.start):
                one = Replacement(date.start, date.end, date.written(target))
            new = to_traditional(one.new) if self._work.is_traditional else one.new
            yield one._replace(new=new)

    def _latin(self, sentence: Sentence, target: str) -> Iterator[Replacement]:
        """The words that the translation keeps, and those that it tore, names and acronyms."""
        text, pair = sentence.text, (self._work.source, self._work.target)
        yield from find_named(text, *pair)
        yield from find_acronyms(text, *pair)
        found = [*find_latin(text)] if keeps_latin(*pair) else lost_codes(text, target)
        if tears_latin(*pair):
            found += torn_latin(text, target)
        elif not keeps_latin(*pair):
            found += torn_acronyms(text, target, pair[0])
        yield from (Replacement(start, end, text[start:end]) for start, end in found)


def _parted_dates(sentence: Sentence, language: str) -> Mapping[int, Date]:
    """The dates with a tag between them and the day of the week, by where both begin."""
    days = find_dated_days(sentence.text, language) if sentence.tags else ()
    offsets = [tag.offset for tag in sentence.tags]
    return {day.start: day.date for day in days if any(day.start < at < day.end for at in offsets)}


def _with_signs(
    sentence: Sentence, amounts: Iterable[Replacement], units: Iterable[Replacement] = ()
) -> Iterator[Replacement]:
    """The amounts, each with the currency sign or unit beside it, so that the two stay together.
    `units`: those that the target has other signs for."""
    text, last = sentence.text, 0
    others = {unit.start: unit for unit in units}
    for start, end, target in amounts:
        after = _MARK_AFTER.match(text, end)
        if start > last and _is_kept(sentence, start - 1, _CURRENCY):
            start, target = start - 1, MARK + target
        elif after is not None and _is_kept(sentence, after.end() - 1, _MEASURE):
            end, target = after.end(), target + after.group()
        elif (unit := others.get(end + text.startswith(" ", end))) is not None:
            end, target = unit.end, f"{target} {unit.new.strip()}"
        elif text.startswith("%", end):
            end, target = end + 1, f"{target}%"
        yield Replacement(start, end, target)
        last = end


def _overlaps(amount: Replacement, others: Iterable[Replacement]) -> bool:
    return any(other.start < amount.end and amount.start < other.end for other in others)


def num_parted(sentence: Sentence, draft: Draft) -> int:
    """How many units, or currency signs after a number, have no number before them in the
    translation."""
    if not (measured := [*_MEASURED.finditer(sentence.text)]):
        return 0
    marks = [one.end() - 1 for one in measured if _is_kept(sentence, one.end() - 1, _MEASURE)]
    wanted = {sentence.text.count(MARK, 0, mark) for mark in marks}
    whole = (draft.text.count(MARK, 0, one.end() - 1) for one in _MEASURED.finditer(draft.text))
    return len(wanted.difference(draft.order[place] for place in whole))


def num_named(sentence: Sentence, draft: Draft) -> int:
    """How many more amounts with a currency sign have the name of a currency behind them in the
    translation: networks write €3,5 Milliarden Dollar."""
    marks = [draft.text.count(MARK, 0, one.start()) for one in _NAMED.finditer(draft.text)]
    kept = [sentence.kept[draft.order[mark]].text for mark in marks]
    named = [text for text in kept if _CURRENCY.fullmatch(text)]
    return max(0, len(named) - len(_NAMED.findall(sentence.text)))


def num_copied(sentence: Sentence, draft: Draft, pair: tuple[str, str]) -> int:
    """How many amounts that the target writes otherwise a translation has that is the sentence
    itself."""
    if draft.text != sentence.text or not _DECIMAL.search(draft.text):
        return 0
    first, *others = draft.text.split(MARK)
    signs = ("€" if _MEASURE.fullmatch(kept.text) else MARK for kept in sentence.kept)
    shown = first + "".join(map("".join, zip(signs, others, strict=True)))
    notation = enter_notation(shown, pair)
    return notation.num_copied if notation else 0


def _is_kept(sentence: Sentence, offset: int, pattern: regex.Pattern[str]) -> bool:
    """Whether the mark of a kept string of this pattern stands there."""
    if sentence.text[offset] != MARK:
        return False
    return pattern.fullmatch(sentence.kept[sentence.text.count(MARK, 0, offset)].text) is not None
