"""English and German amounts in words that networks take for others, in digits: fifteen thousand,
half a million, ten percent and two thirds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import regex

from service.translation.checks.dates import MONTHS
from service.translation.checks.number_words import SCALES, words_value

ONES = "one|two|three|four|five|six|seven|eight|nine"
TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
BELOW_HUNDRED = rf"(?:(?:{TENS})(?:[- ](?:{ONES}))?|{TEENS})"
_SCALE = "(?:hundred|thousand|million|billion|trillion)"
_PARTS = "third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
_ORDINAL = rf"(?:(?:{TENS})[- ])?(?:first|second|{_PARTS}|eleventh|twelfth|\p{{L}}{{1,5}}teenth)"
ENDS = rf"(?![\w-]|[- ](?:{_SCALE}|{TENS}|{TEENS})\b|(?: and)? {_ORDINAL}\b)"
"""What does not follow a number that ends there."""
_REST = rf"(?: and)? (?:{BELOW_HUNDRED}|{ONES})"
_BELOW_THOUSAND = rf"(?:(?:{ONES}|an?) hundred(?:{_REST})?|{BELOW_HUNDRED}|{ONES})"
_LARGE = (
    rf"(?:{_BELOW_THOUSAND}|an?)[- ](?:thousand|million|billion|trillion)\b"
    rf"(?:(?<=rillion),? {_BELOW_THOUSAND} billion)?"
    rf"(?:(?<=[rb]illion),? {_BELOW_THOUSAND} million)?"
    rf"(?:(?<=illion),?(?: and)? {_BELOW_THOUSAND} thousand)?"
    rf"(?:(?:,(?= \S++ hundred))?(?: and)? {_BELOW_THOUSAND})?"
)
_LEAST = {"ten": 10, "hundred": 100, "thousand": 1000}
_SHARES = {"half": "0.5", "quarter": "0.25", "three": "0.75"}
_WORDS = {"en": ("million", "billion"), "de": ("Millionen", "Milliarden")}
_MILLIONS = frozenset({"million", "Millionen"})
_TO_GERMAN = str.maketrans(",.", ".,")
_LEAST_GROUPED = 10_000
_OF_THIS_CENTURY = range(2001, 2100)
_MILLION, _BILLION = 10**6, 10**9
_MOST_PRECISE = 100
"""Of a million or billion, the smallest part that is written behind the mark."""

_SINGLE = frozenset(
    {
        *("a thousand", "one thousand", "a million", "hundert", "einhundert", "tausend"),
        *("eintausend", "eine million", "einer million", "eine milliarde", "einer milliarde"),
    }
)
"""What networks know in words."""


class Rule(NamedTuple):
    """Numbers in words that `pattern` finds, in digits as `write` says, or not at all. A text that
    has one has one of the `hints`, in small letters: looking for these takes less."""

    hints: tuple[str, ...]
    pattern: regex.Pattern[str]
    write: Callable[[regex.Match[str]], str | None]


def in_billions(value: Decimal, language: str) -> str:
    """An amount as networks of a language know it best: they know no trillions, and a single
    million only in digits."""
    million, billion = _WORDS[language]
    if value >= _BILLION and value * _MOST_PRECISE % _BILLION == 0:
        written = f"{(value / _BILLION).normalize():,f} {billion}"
    elif value > _MILLION and value * _MOST_PRECISE % _MILLION == 0:
        written = f"{(value / _MILLION).normalize():,f} {million}"
    else:
        written = f"{value.normalize():,f}"
    return written.translate(_TO_GERMAN) if language == "de" else written


def _large(found: regex.Match[str]) -> str | None:
    value = words_value(found.group().replace(",", ""))
    if value is None or found.group().lower() in _SINGLE:
        return None
    return str(value) if value in _OF_THIS_CENTURY else in_billions(Decimal(value), "en")


def _first(found: regex.Match[str]) -> str:
    return in_billions(_value_of_first(found), "en")


def _value_of_first(found: regex.Match[str]) -> Decimal:
    """The value of the first of two numbers of which the second one has the word for both."""
    value = Decimal(words_value(found["first"]) or 0)
    if found["hundreds"] and "hundred" not in found["first"]:
        value *= 100
    return value * SCALES.get((found["scale"] or "").lower(), 1)


def _range(found: regex.Match[str]) -> str:
    scale = SCALES.get((found["scale"] or "").lower(), 1)
    last = Decimal((words_value(found["last"]) or 0) * scale)
    return _from_to(_value_of_first(found), last, "en")


def _from_to(first: Decimal, last: Decimal, language: str) -> str:
    """Both amounts, before the word for both."""
    written = in_billions(last, language)
    if unit := written.partition(" ")[2]:
        first /= _MILLION if unit in _MILLIONS else _BILLION
    number = f"{first:,f}"
    return f"{number.translate(_TO_GERMAN) if language == 'de' else number}-{written}"


def _hundreds(found: regex.Match[str]) -> str | None:
    hundreds, rest = words_value(found["hundreds"]), words_value(found["rest"] or "zero")
    count = (hundreds or 1) * 100 + (rest or 0)
    return f"{count:,}" if rest or count > 1000 else None


def _share(found: regex.Match[str]) -> str:
    share = Decimal(_SHARES[found["share"].lower()])
    return in_billions(share * SCALES[found["scale"].lower()], "en")


def _percentage(found: regex.Match[str]) -> str:
    return _SHARES[found["share"].lower()] if found["share"] else str(words_value(found["words"]))


def _sign(_: regex.Match[str]) -> str:
    return "%"


def _scaled_first(found: regex.Match[str]) -> str | None:
    is_range = Decimal(found["first"]) < Decimal(found["last"])
    return f"{found['first']} {found['scale']}" if is_range else None


def _fraction(found: regex.Match[str]) -> str | None:
    count, part = words_value(found["count"]) or 1, words_value(found["part"])
    is_plural = found["plural"] != ""
    return f"{count}/{part}" if part and count < part and is_plural == (count > 1) else None


def _german(found: regex.Match[str]) -> str | None:
    value = words_value(found.group())
    if value is None or found.group().lower() in _SINGLE:
        return None
    return str(value) if value < _LEAST_GROUPED else in_billions(Decimal(value), "de")


def _german_first(found: regex.Match[str]) -> str | None:
    value, scale = words_value(found["first"]), found["scale"]
    if value is None or scale == "Prozent":
        return None if value is None else str(value)
    return in_billions(Decimal(value * SCALES[scale.lower()]), "de")


def _german_range(found: regex.Match[str]) -> str | None:
    first, last = words_value(found["first"]), words_value(found["last"])
    if first is None or last is None:
        return None
    if found["scale"] == "Prozent":
        return f"{first}-{last} Prozent"
    scale = SCALES[found["scale"].lower()]
    return _from_to(Decimal(first * scale), Decimal(last * scale), "de")


def _german_share(found: regex.Match[str]) -> str:
    return in_billions(Decimal(_MILLION if found["scale"] == "Million" else _BILLION) / 2, "de")


def _german_trillion(_: regex.Match[str]) -> str:
    return in_billions(Decimal(10**12), "de")


def _german_percent(found: regex.Match[str]) -> str | None:
    value = "0,5" if found["half"] else words_value(found["words"])
    return None if value is None else str(value)


_PERCENT = r" (?:percent|per cent)(?![\w-])"
_FIRST = rf"(?i)(?<![\w-])(?P<first>(?:{ONES}) hundred|{BELOW_HUNDRED}|{ONES})"
_LAST = (
    rf"(?P<last>(?P<hundreds>(?:{ONES}) hundred)|{BELOW_HUNDRED}|{ONES})"
    rf"(?: (?P<scale>thousand|million|billion|trillion){ENDS}|(?={_PERCENT}))"
)
_HAS_SCALE = ("thousand", "illion", "percent", "per cent")
ENGLISH = (
    Rule(_HAS_SCALE, regex.compile(rf"{_FIRST} to {_LAST}"), _range),
    Rule(
        _HAS_SCALE,
        regex.compile(rf"{_FIRST}(?= (?:or|(?<=\bbetween \P{{N}}{{3,14}})and) {_LAST})"),
        _first,
    ),
    Rule(
        ("percent", "per cent"),
        regex.compile(
            rf"(?i)(?<![\w-])(?:(?P<words>{_BELOW_THOUSAND})|(?P<share>half)(?: of)? (?:an?|one)"
            rf"|a (?P<share>quarter) of (?:an?|one))(?={_PERCENT})"
        ),
        _percentage,
    ),
    Rule(
        ("illion",),
        regex.compile(
            r"(?i)(?<![\w-])(?:(?P<share>half)|(?:a|one) (?P<share>quarter) of"
            r"|(?P<share>three) quarters of) an? (?P<scale>million|billion|trillion)(?![\w-])"
        ),
        _share,
    ),
    Rule(("thousand", "illion"), regex.compile(rf"(?i)(?<![\w-]){_LARGE}{ENDS}"), _large),
    Rule(
        (" hundred",),
        regex.compile(
            rf"(?i)(?<![\w-])(?P<hundreds>{BELOW_HUNDRED}|{ONES}|an?) hundred"
            rf"(?:(?: and)? (?P<rest>{BELOW_HUNDRED}|{ONES}))?{ENDS}"
        ),
        _hundreds,
    ),
    Rule(
        tuple(_PARTS.split("|")),
        regex.compile(
            rf"(?i)(?<![\w-])(?P<count>an?|{ONES})[- ](?P<part>{_PARTS})(?P<plural>s?)"
            rf"(?![\w-])(?:(?= of (?!an hour\b|(?:{'|'.join(MONTHS['en'])})\b))"
            rf"|(?<=(?<!quarter)s|\bone-(?:{_PARTS}))|(?<=\bby (?:one|a) (?:{_PARTS}))(?! \p{{L}}))"
        ),
        _fraction,
    ),
)
MANY = regex.compile(
    r"(?i)(?<![\w-])(?P<many>ten|hundred|thousand)s of (?P<scale>thousand|million|billion)s\b"
    r"(?: of\b(?! (?:th|us\b|my\b|our\b|his\b|her\b|its\b)))?"
)


def value_of_many(found: regex.Match[str]) -> int:
    """The least of hundreds of millions."""
    return _LEAST[found["many"].lower()] * SCALES[found["scale"].lower()]


def without_many(text: str) -> str:
    """The text with spaces for such words, which are no single millions."""
    return MANY.sub(lambda found: " " * len(found.group()), text) if "s of " in text else text


def _more_than(found: regex.Match[str]) -> str:
    more = "More" if found["many"][0].isupper() else "more"
    return f"{more} than {in_billions(Decimal(value_of_many(found)), 'en')}"


_AMOUNT = r"\d{1,3}(?:\.\d{1,3})?"
ENGLISH_FOR_CHINESE = (
    Rule(
        ("illion",),
        regex.compile(
            rf"(?<![\w.,:/-])(?P<first>{_AMOUNT})"
            rf"(?=(?: (?:to|or|(?<=\b[Bb]etween \S{{1,14}} )and) |(?<=\.\d{{1,3}})[-–])"
            rf"(?:⟦\d⟧|[^\w\s])?(?P<last>{_AMOUNT}) (?P<scale>million|billion|trillion)\b)"
        ),
        _scaled_first,
    ),
    Rule(
        ("percent", "per cent"),
        regex.compile(
            rf"(?i)(?<=[\d⟧]|\b(?:{ONES}|{TEENS}|{TENS}|hundred|and a half|half an?|quarter of a))"
            rf"{_PERCENT}"
        ),
        _sign,
    ),
    Rule((" of thousands", " of millions", " of billions"), MANY, _more_than),
)
"""For Chinese, in which networks lose the number before a percent, multiply one of two, and make
数百万 of hundreds of millions."""
_GERMAN_LARGE = r"\p{L}{0,40}(?:hundert|tausend)\p{Ll}{0,40}(?<!te[nrsm]?)(?![\w-])"
_GERMAN_SCALE = r"(?P<scale>Millionen|Milliarden|Billionen|Prozent)(?![\w-])"
_HAS_GERMAN_SCALE = ("illi", "prozent")
GERMAN = (
    Rule(
        _HAS_GERMAN_SCALE,
        regex.compile(
            rf"(?<![\w-])(?P<first>\p{{L}}{{3,40}}) bis (?P<last>\p{{L}}{{3,40}}) {_GERMAN_SCALE}"
        ),
        _german_range,
    ),
    Rule(
        _HAS_GERMAN_SCALE,
        regex.compile(
            r"(?<![\w-])(?P<first>\p{L}{3,40})(?= (?:oder|(?<=\b[Zz]wischen \p{L}{3,40} )und)"
            rf" \p{{L}}{{3,40}} {_GERMAN_SCALE})"
        ),
        _german_first,
    ),
    Rule(
        (" prozent",),
        regex.compile(
            r"(?<![\w-])(?:(?P<half>[Ee]in halbes)|(?P<words>\p{L}{3,40}))(?= Prozent(?![\w-]))"
        ),
        _german_percent,
    ),
    Rule(
        ("halbe",),
        regex.compile(r"(?<![\w-])[Ee]iner? halben? (?P<scale>Million|Milliarde)(?![\w-])"),
        _german_share,
    ),
    Rule((" billion",), regex.compile(r"(?<![\w-])[Ee]iner? Billion(?![\w-])"), _german_trillion),
    Rule(
        ("illi",),
        regex.compile(
            r"(?<![\w-])\p{L}{3,40} (?:Million(?:en)?|Milliarden?|Billionen)(?![\w-])"
            rf"(?: \p{{L}}{{3,40}} Millionen(?![\w-]))?(?: (?:und )?{_GERMAN_LARGE})?"
        ),
        _german,
    ),
    Rule(("hundert", "tausend"), regex.compile(rf"(?<![\w-]){_GERMAN_LARGE}"), _german),
)
