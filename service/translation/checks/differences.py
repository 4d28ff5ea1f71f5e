"""Mismatches between a sentence and its translation.

Checks report what is likely a mistake, and stay silent where languages differ by nature: numbers
are compared by value, in digits or words; lengths by what is usual. They cost linear time.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import regex

from model.text.spans import Span
from service.translation.checks.calendar_ranges import lost_calendar_ranges
from service.translation.checks.dated_weekdays import lost_days
from service.translation.checks.dates import lost_dates
from service.translation.checks.half_days import lost_halves
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.glossary import GlossaryEntry
from service.translation.language.chinese import HAN
from service.translation.language.codes import primary
from service.translation.language.segmentation import is_spaced
from service.translation.language.widths import in_half_width
from service.translation.placeholders import find_kept
from service.translation.units import UNITS

CheckKind = Literal["number", "url", "tag", "placeholder", "term", "length", "language", "omitted"]
_TAG = regex.compile(r"</?[A-Za-z][\w:.-]*+(?=[\s/>])")
_ADDRESS = regex.compile(r"://|^www\.|^[^\s@]+@[^\s@]+\.[^\s@]+$|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,4}/")
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}'’]*+")
_DIGIT = regex.compile(r"\d")
_LETTER = regex.compile(r"\p{L}")
_UNITS_OF_HAN = 3
"""A Chinese character says as much as this many letters."""
_LEAST_RATIO, _MOST_RATIO, _SLACK = 0.35, 3.0, 25
_LEAST_WORDS, _MOST_COPIED = 4, 0.7
_MOST_SHOWN, _MOST_COMPARED = 20, 500


@dataclass(frozen=True)
class Check:
    """Something that differs between a sentence and its translation: what only the source has, and
    what only the translation has."""

    kind: CheckKind
    source: list[str]
    target: list[str]
    message: str


def check_sentence(
    source: str,
    target: str,
    pair: tuple[str, str],
    tags: tuple[str, str] = ("", ""),
    *,
    is_complete: bool = True,
) -> list[Check]:
    """All that differs between a sentence and its translation as they read, in the order of the
    kinds. Terms and omissions have checks of their own.

    `tags`: both as written, with tags; `is_complete`: the network ended the translation itself.
    """
    before = _side(source, _find(source))
    after = _target_side(target, before)
    found = [
        _check_numbers(before, after, pair),
        *_check_kept(before, after),
        check_tags(*tags),
        _check_length(source, target, is_complete=is_complete),
        _check_language(before.rest, after.rest, pair),
    ]
    return [check for check in found if check is not None]


def check_terms(lost: Sequence[GlossaryEntry]) -> Check | None:
    """The terms of a glossary that a translation lacks."""
    if not lost:
        return None
    told = ", ".join(f"{one.source} = {one.target}" for one in dict.fromkeys(lost))
    return _check(
        "term", [one.source for one in lost], [], f"the translation lacks the term {told}"
    )


def check_omitted(words: Sequence[str]) -> Check | None:
    """The words of the source that the translation seems to lack."""
    if not words:
        return None
    return _check("omitted", words, [], f"the translation seems to lack {', '.join(words)}")


def check_tags(source: str, target: str) -> Check | None:
    """Compare the tags of two texts as they are written, by name."""
    left, right = Counter(_TAG.findall(source)), Counter(_TAG.findall(target))
    return _difference("tag", [*(left - right).elements()], [*(right - left).elements()])


class _Side(NamedTuple):
    """A text, its strings to keep, and the text without them, so that their digits and words do
    not count."""

    text: str
    kept: Sequence[str]
    rest: str


def _find(text: str) -> list[Span]:
    return find_kept(in_half_width(text), joins_neighbours=False)


def _side(text: str, spans: Iterable[Span]) -> _Side:
    position, kept, rest = 0, [], []
    for start, end in spans:
        kept.append(text[start:end])
        rest.append(text[position:start])
        position = end
    return _Side(text, kept, " ".join([*rest, text[position:]]))


def _target_side(text: str, source: _Side) -> _Side:
    """The translation. Its own compounds and names are no strings to keep, but those of the source
    are, whatever is joined to them."""
    found = (span for span in _find(text) if not _is_own(text[slice(*span)], source.text))
    side = _side(text, found)
    rest = side.rest
    for string in itertools.islice(dict.fromkeys(source.kept), _MOST_COMPARED):
        rest = rest.replace(string, " ") if _DIGIT.search(string) else rest
    return side._replace(rest=rest)


def _is_own(string: str, source: str) -> bool:
    """Whether a translation writes so what the source has in words: AutoText, PHP-8.0."""
    if string in source:
        return False
    parts = string.split("-") if "-" in string else ()
    return string.isalpha() or any(len(part) > 1 and part in source for part in parts)


def _check_numbers(source: _Side, target: _Side, pair: tuple[str, str]) -> Check | None:
    """Dates of which all numbers are there count as one."""
    lost, added = unmatched(find_numbers(source.rest), find_numbers(target.rest))
    texts = source.rest, target.rest
    dates = [] if lost else lost_of_calendar(*texts, pair)
    return _difference("number", [*lost, *dates, *lost_halves(*texts, pair)], added)


def lost_of_calendar(source: str, target: str, pair: tuple[str, str]) -> list[str]:
    """The dates, days of the week beside them, and ranges of days or months that the source has, as
    written, and the translation not as a whole."""
    kinds = lost_dates, lost_days, lost_calendar_ranges
    return [written for lost_of in kinds for written in lost_of(source, target, pair)]


def _check_kept(source: _Side, target: _Side) -> Iterator[Check | None]:
    """Addresses and placeholders that one text has more often than the other. Units are written as
    words, too, so that a translation may add some."""
    added = [string for string in _more_often(target, source) if not UNITS.fullmatch(string)]
    sides = _more_often(source, target), added
    yield _difference("url", *([s for s in side if _ADDRESS.search(s)] for side in sides))
    rest = ([s for s in side if not _ADDRESS.search(s)] for side in sides)
    yield _difference("placeholder", *rest)


def _more_often(side: _Side, other: _Side) -> list[str]:
    """The strings to keep that `other` has less often, each as often as it lacks them."""
    found = []
    for string, count in itertools.islice(Counter(side.kept).items(), _MOST_COMPARED):
        if not _TAG.match(string):
            found += [string] * (count - min(count, other.text.count(string)))
    return found


def _check_length(source: str, target: str, *, is_complete: bool) -> Check | None:
    if not is_complete:
        return Check("length", [], [], "the translation was cut off before its end")
    usual, length = _units(source), _units(target)
    if length < _LEAST_RATIO * usual - _SLACK:
        return _check("length", [], [], "the translation is much shorter than usual")
    if length > _MOST_RATIO * usual + _SLACK:
        return _check("length", [], [], "the translation is much longer than usual")
    return None


def _units(text: str) -> int:
    return len(text) + (_UNITS_OF_HAN - 1) * len(HAN.findall(text))


def _check_language(source: str, target: str, pair: tuple[str, str]) -> Check | None:
    """Chinese characters where none belong or none where they do, and copied sentences."""
    source_language, target_language = pair
    if source_language == target_language:
        return None
    han = HAN.findall(target)
    if is_spaced(target_language) and han:
        return _language_check(han, "is partly in Chinese characters")
    if primary(target_language) == "zh":
        is_long = len(_WORD.findall(source)) >= _LEAST_WORDS
        is_wrong = is_long and not han and _LETTER.search(target) is not None
        return _language_check([], "has no Chinese character") if is_wrong else None
    return _check_copied(source, target)


def _check_copied(source: str, target: str) -> Check | None:
    words = [word for word in _WORD.findall(target) if word.islower()]  # no names
    if len(words) < _LEAST_WORDS:
        return None
    known = set(_WORD.findall(source))
    if sum(word in known for word in words) <= _MOST_COPIED * len(words):
        return None
    return _language_check([], "repeats the source, and is hardly translated")


def _language_check(target: Iterable[str], told: str) -> Check:
    return _check("language", [], dict.fromkeys(target), f"the translation {told}")


def _difference(kind: CheckKind, lost: Sequence[str], added: Sequence[str]) -> Check | None:
    if not lost and not added:
        return None
    told = [
        f"{verb} {', '.join(strings[:_MOST_SHOWN])}"
        for verb, strings in (("lacks", lost), ("adds", added))
        if strings
    ]
    return _check(kind, lost, added, f"the translation {' and '.join(told)}")


def _check(kind: CheckKind, source: Iterable[str], target: Iterable[str], message: str) -> Check:
    return Check(kind, list(source)[:_MOST_SHOWN], list(target)[:_MOST_SHOWN], message)
