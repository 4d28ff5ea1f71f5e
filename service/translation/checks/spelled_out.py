"""English and German numbers in words of which networks lose a part, in digits: five point two
billion, nineteen eighty-four, twenty-five hundred, the twenty-first of March, minus 10 degrees."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

import regex

from model.text.spans import Span, disjoint
from service.translation.checks import amounts_in_words
from service.translation.checks.amounts_in_words import (
    BELOW_HUNDRED,
    ENDS,
    ONES,
    TEENS,
    TENS,
    Rule,
    in_billions,
)
from service.translation.checks.calendar_ranges import (
    CHINESE_DAYS,
    LISTED_DAYS,
    RANGE_DASH,
    RANGE_HYPHEN,
    RANGE_TO,
)
from service.translation.checks.chinese_decimals import find_decimals
from service.translation.checks.chinese_years import find_years
from service.translation.checks.dates import MONTHS
from service.translation.checks.halves import find_halves
from service.translation.checks.idioms import IDIOM, find_idioms
from service.translation.checks.mixed_amounts import find_mixed
from service.translation.checks.more_than import find_more_than
from service.translation.checks.number_words import InDigits, ordinal_ending, words_value
from service.translation.language.chinese import to_simplified

_ANY = rf"(?:{ONES}|{TEENS}|{TENS}|zero|hundred|thousand)"
_DIGIT = f"(?:zero|oh|{ONES})"
_CENTURY = "thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
_ORDINAL = (
    r"(?:(?:twenty|thirty)[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|\p{L}{1,5}teenth|tenth|eleventh|twelfth|twentieth|thirtieth"
)
_MONTH = "|".join(MONTHS["en"])
_GERMAN_DIGIT = "(?:null|eins|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun)"


class Respelled(NamedTuple):
    """A text with numbers in digits, in simplified characters, and the one that was written: where
    the numbers begin and end, and the places in the other text at which these ends are."""

    text: str
    source: str
    starts: Sequence[int]
    ends: Sequence[int]
    source_spans: Sequence[Span]

    def written(self, start: int, end: int) -> str:
        """text[start:end] as it was written, with all of a number in words."""
        last = bisect.bisect_right(self.starts, start) - 1
        if last < 0:
            return self.source[start:end]
        if start < self.ends[last]:
            return self.source[slice(*self.source_spans[last])]
        shift = self.source_spans[last].end - self.ends[last]
        return self.source[start + shift : end + shift]


def find_spelled_out(text: str, language: str, target: str = "") -> Iterator[InDigits]:
    """Those of an English or German text, as networks of the target know them best; of two that
    share a place the first counts. Linear time."""
    rules = RULES[language] if has_spoken_numbers(text, language) else ()
    if rules and (language, target) == ("en", "zh"):
        rules = (*rules, *amounts_in_words.ENGLISH_FOR_CHINESE)
    small = text.lower() if rules else ""
    for hints, pattern, write in rules:
        for found in pattern.finditer(text) if any(map(small.__contains__, hints)) else ():
            if (digits := write(found)) is not None:
                yield InDigits(*found.span(), digits)


def in_digits(text: str) -> Respelled:
    """The text with these numbers and the Chinese ones in digits."""
    source, text = text, to_simplified(text)
    spelled_out = [*find_spelled_out(text, "en"), *find_spelled_out(text, "de")]
    halves = chain.from_iterable(find_halves(text, language) for language in ("en", "de", "zh"))
    in_chinese = find_idioms, find_mixed, find_more_than, find_decimals, find_years
    chinese = () if text.isascii() else chain.from_iterable(find(text) for find in in_chinese)
    found = disjoint([*spelled_out, *halves, *chinese])
    if not found:
        return Respelled(text, source, (), (), ())
    parts, starts, ends = [], [], []
    shift = last = 0
    for start, end, digits in found:
        parts += [text[last:start], digits]
        starts.append(start + shift)
        ends.append(starts[-1] + len(digits))
        shift, last = ends[-1] - end, end
    spans = [Span(start, end) for start, end, _ in found]
    return Respelled("".join([*parts, text[last:]]), source, starts, ends, spans)


def has_spoken_numbers(text: str, language: str) -> bool:
    """Whether there may be such numbers, or times, halves or fractions in words, or from one day
    or month to another; any other look would take longer."""
    if language == "zh":
        has_days = ("周" in text or "星期" in text) and CHINESE_DAYS.search(text) is not None
        return has_days or "半" in text or "分之" in text or IDIOM.search(text) is not None
    if language == "en":
        return (
            "half" in text
            or "uarter" in text
            or "illion" in text
            or "housand" in text
            or "er cent" in text
            or "ercent" in text
            or "third" in text
            or "fth" in text
            or "xths" in text
            or "enths" in text
            or "inths" in text
            or "ghths" in text
            or " past " in text
            or "minutes to " in text
            or "ten to " in text
            or "ive to " in text
            or " point " in text
            or "inus " in text
            or " hundred" in text
            or "teen" in text
            or "nty" in text
            or "hirty" in text
            or "th of " in text
            or "st of " in text
            or "nd of " in text
            or "rd of " in text
            or (" to " in text and RANGE_TO["en"].search(text) is not None)
            or ("–" in text and RANGE_DASH["en"].search(text) is not None)
            or ("-" in text and RANGE_HYPHEN["en"].search(text) is not None)
            or ("day" in text and LISTED_DAYS["en"].search(text) is not None)
        )
    return language == "de" and (
        "alb " in text
        or "illi" in text
        or "ausend" in text
        or "undert" in text
        or " Prozent" in text
        or (" bis " in text and RANGE_TO["de"].search(text) is not None)
        or ("–" in text and RANGE_DASH["de"].search(text) is not None)
        or ("-" in text and RANGE_HYPHEN["de"].search(text) is not None)
        or ("tag" in text and LISTED_DAYS["de"].search(text) is not None)
        or "einhalb" in text
        or "derthalb" in text
        or "iertel " in text
        or "ehn " in text
        or "ünf " in text
        or "wanzig " in text
        or " Komma " in text
        or "inus " in text
        or "igsten " in text
        or "ehnten " in text
        or "stündig" in text
        or "wöchig" in text
    )


def _decimals(found: regex.Match[str]) -> str | None:
    whole, mark = words_value(found["whole"]), "." if found["point"] == "point" else ","
    digits = (words_value(word) or 0 for word in found["decimals"].split())
    if whole is None:
        return None
    rest = "".join(map(str, digits))
    if found["trillion"]:
        return in_billions(Decimal(f"{whole}.{rest}") * 10**12, "en" if mark == "." else "de")
    return f"{whole}{mark}{rest}"


def _year(found: regex.Match[str]) -> str:
    rest = found["rest"].lower().removeprefix("oh").strip(" -")
    return f"{words_value(found['century'])}{words_value(rest):02}"


def _decade(found: regex.Match[str]) -> str:
    tens = words_value(found["tens"].lower().removesuffix("s").replace("ie", "y")) or 0
    return f"{words_value(found['century'])}{tens % 100:02}s"


def _english_day(found: regex.Match[str]) -> str | None:
    day = words_value(found["day"])
    return None if day is None else f"{day}{ordinal_ending(day)}"


def _german_year(found: regex.Match[str]) -> str | None:
    year = words_value(found.group())
    return None if year is None else str(year)


def _german_day(found: regex.Match[str]) -> str | None:
    day = words_value(found.group())
    return None if day is None else f"{day}."


def _minus(found: regex.Match[str]) -> str:
    return f"-{found['number']}"


_MONTHS = {code: tuple(map(str.lower, months)) for code, months in MONTHS.items()}
_BEFORE_MINUS = (
    "about|are|at|be|been|between|from|is|of|to|was|were|"
    "auf|bei|beträgt|bis|ist|sind|um|von|war|waren|zwischen"
)
_MINUS = Rule(
    ("minus ",),
    regex.compile(
        rf"(?i)(?<![\w-]|\d )minus (?P<number>\d++(?:[.,]\d++)?+)(?![\p{{L}}\d])"
        rf"(?:(?<=(?:^[(\"“„]?|\b(?:{_BEFORE_MINUS}) )minus [\d.,]++)|(?= (?:degrees|Grad)\b))"
    ),
    _minus,
)
"""A sign, and no difference as in the price minus 5."""
_ENGLISH = (
    Rule(
        (" point ",),
        regex.compile(
            rf"(?i)(?<![\w-])(?P<whole>{_ANY}(?:[- ](?:and )?{_ANY}){{0,6}}) (?P<point>point) "
            rf"(?P<decimals>{_DIGIT}(?: {_DIGIT}){{0,6}})(?P<trillion> trillion)?(?![\w-])"
        ),
        _decimals,
    ),
    Rule(
        ("teen", "twenty"),
        regex.compile(
            rf"(?i)(?<=\b(?:in|since|until|till|by|of|year|before|after|early|late|{_MONTH}) )"
            rf"(?P<century>{_CENTURY})(?: hundred(?: and)? (?P<rest>{BELOW_HUNDRED}|{ONES})"
            rf"|[- ](?P<rest>{BELOW_HUNDRED}|oh[- ](?:{ONES}))){ENDS}"
        ),
        _year,
    ),
    Rule(
        ("teen", "twenty"),
        regex.compile(
            r"(?i)(?<![\w-]|\bat )(?:(?P<century>seventeen|eighteen|nineteen)"
            rf"[- ](?P<rest>(?:{TENS})[- ](?:{ONES})|(?:six|seven|eigh|nine)ty)"
            rf"|(?P<century>twenty)[- ](?P<rest>(?:twenty|thirty)[- ](?:{ONES}))){ENDS}"
        ),
        _year,
    ),
    Rule(
        ("ties", "hundreds"),
        regex.compile(
            rf"(?i)(?<=\bthe (?:early |late |mid-)?)(?P<century>{_CENTURY})"
            rf"[- ](?P<tens>(?:{TENS.replace('y', 'ie')})s|hundreds)\b"
        ),
        _decade,
    ),
    Rule(
        _MONTHS["en"],
        regex.compile(
            rf"(?i)(?<![\w-])(?P<day>{_ORDINAL})(?=(?: day)? of (?:{_MONTH})\b)"
            rf"|(?<=\b(?:{_MONTH}) (?:the )?)(?P<day>{_ORDINAL})(?![\w-])"
        ),
        _english_day,
    ),
)
_GERMAN = (
    Rule(
        (" komma ",),
        regex.compile(
            r"(?<![\w-])(?P<whole>\p{L}{3,40}) (?P<point>Komma) "
            rf"(?P<decimals>{_GERMAN_DIGIT}(?: {_GERMAN_DIGIT}){{0,6}})"
            r"(?P<trillion> Billionen)?(?![\w-])"
        ),
        _decimals,
    ),
    Rule(
        ("zehnhundert",),
        regex.compile(
            r"(?<![\w-])(?:drei|vier|fünf|sech|sieb|acht|neun)zehnhundert\p{Ll}{0,30}(?![\w-])"
        ),
        _german_year,
    ),
    Rule(
        _MONTHS["de"],
        regex.compile(
            r"(?<=\b(?:[Aa]m|[Dd]e[mnr]|[Vv]om|[Zz]um|[Bb]is|[Aa]b|[Ss]eit) )\p{Ll}{2,22}te[nr]?"
            rf"(?= (?:{'|'.join(MONTHS['de'])})\b)"
        ),
        _german_day,
    ),
)
RULES = {
    "en": (*_ENGLISH, *amounts_in_words.ENGLISH, _MINUS),
    "de": (*_GERMAN, *amounts_in_words.GERMAN, _MINUS),
}
