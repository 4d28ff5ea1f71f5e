"""English and German numbers in words of which networks lose a part, in digits: five point two
billion, nineteen eighty-four, twenty-five hundred, the twenty-first of March."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import regex

from service.translation.checks.chinese_decimals import find_decimals
from service.translation.checks.dates import MONTHS
from service.translation.checks.number_words import InDigits, words_value

_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_BELOW_HUNDRED = rf"(?:(?:{_TENS})(?:[- ](?:{_ONES}))?|{_TEENS})"
_ANY = rf"(?:{_ONES}|{_TEENS}|{_TENS}|zero|hundred|thousand)"
_DIGIT = f"(?:zero|oh|{_ONES})"
_CENTURY = "thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
_ORDINAL = (
    r"(?:(?:twenty|thirty)[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|\p{L}{1,5}teenth|tenth|eleventh|twelfth|twentieth|thirtieth"
)
_MONTH = "|".join(MONTHS["en"])
_ENGLISH = regex.compile(
    rf"(?<![\w-])(?:(?P<whole>{_ANY}(?:[- ](?:and )?{_ANY}){{0,6}})"
    rf" point (?P<decimals>{_DIGIT}(?: {_DIGIT}){{0,6}})"
    rf"|(?<=\b(?:in|since|until|till|by|of|year|before|after|early|late|{_MONTH}) )"
    rf"(?P<century>{_CENTURY})(?: hundred(?: and)? (?P<year>{_BELOW_HUNDRED}|{_ONES})"
    rf"|[- ](?P<year>{_BELOW_HUNDRED}|oh[- ](?:{_ONES})))"
    rf"|(?<=\bthe (?:early |late |mid-)?)(?P<century>{_CENTURY})"
    rf"[- ](?P<decade>(?:{_TENS.replace('y', 'ie')})s|hundreds)"
    rf"|(?P<hundreds>{_BELOW_HUNDRED}) hundred(?: and (?P<rest>{_BELOW_HUNDRED}|{_ONES}))?"
    rf"|(?P<day>{_ORDINAL})(?=(?: day)? of (?:{_MONTH})\b)"
    rf"|(?<=\b(?:{_MONTH}) (?:the )?)(?P<day>{_ORDINAL}))"
    rf"(?![\w-]|[- ](?:hundred|thousand|{_TENS}|{_TEENS})\b)",
    regex.IGNORECASE,
)
_GERMAN_DIGIT = "(?:null|eins|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun)"
_GERMAN = regex.compile(
    r"(?<![\w-])(?:(?P<whole>\p{L}{3,40}) Komma "
    rf"(?P<decimals>{_GERMAN_DIGIT}(?: {_GERMAN_DIGIT}){{0,6}})"
    r"|(?P<year>(?:drei|vier|fünf|sech|sieb|acht|neun)zehnhundert\p{Ll}{0,30})"
    r"|(?<=\b(?:[Aa]m|[Dd]e[mnr]|[Vv]om|[Zz]um|[Bb]is|[Aa]b|[Ss]eit) )(?P<day>\p{Ll}{2,22}te[nr]?)"
    rf"(?= (?:{'|'.join(MONTHS['de'])})\b))(?![\w-])"
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


class Respelled(NamedTuple):
    """A text with numbers in digits, and by the place of each the words that stood there."""

    text: str
    words: Mapping[int, str]


def find_spelled_out(text: str) -> Iterator[InDigits]:
    """Those of an English or German text. Linear time."""
    for found in _ENGLISH.finditer(text) if may_be_english(text) else ():
        if (digits := _in_english(found)) is not None:
            yield InDigits(*found.span(), digits)
    for found in _GERMAN.finditer(text) if may_be_german(text) else ():
        if (digits := _in_german(found)) is not None:
            yield InDigits(*found.span(), digits)


def in_digits(text: str) -> Respelled:
    """The text with these numbers and the Chinese ones in digits."""
    parts, words, length, end = [], {}, 0, 0
    for found in sorted([*find_spelled_out(text), *find_decimals(text)]):
        length += found.start - end
        words[length] = text[found.start : found.end]
        length += len(found.digits)
        parts += [text[end : found.start], found.digits]
        end = found.end
    return Respelled("".join([*parts, text[end:]]), words)


def may_be_english(text: str) -> bool:
    """Whether there may be English ones; any other look would take longer."""
    return (
        " point " in text
        or " hundred" in text
        or "teen" in text
        or "nty" in text
        or "hirty" in text
        or "th of " in text
        or "st of " in text
        or "nd of " in text
        or "rd of " in text
    )


def may_be_german(text: str) -> bool:
    """Whether there may be German ones."""
    return " Komma " in text or "zehnhundert" in text or "igsten " in text or "ehnten " in text


def _in_english(found: regex.Match[str]) -> str | None:
    if found["whole"]:
        return _decimals(found, ".")
    if found["century"]:
        century = words_value(found["century"]) or 0
        if found["decade"]:
            return f"{century}{_decade(found['decade'])}s"
        rest = words_value(found["year"].lower().removeprefix("oh").strip(" -"))
        return f"{century}{rest:02}"
    if found["hundreds"]:
        rest = words_value(found["rest"] or "zero") or 0
        return f"{100 * (words_value(found['hundreds']) or 0) + rest:,}"
    day = words_value(found["day"])
    return (
        None if day is None else f"{day}{'th' if 10 < day < 20 else _ENDINGS.get(day % 10, 'th')}"
    )


def _in_german(found: regex.Match[str]) -> str | None:
    if found["whole"]:
        return _decimals(found, ",")
    value = words_value(found["year"] or found["day"])
    if value is None:
        return None
    return str(value) if found["year"] else f"{value}."


def _decimals(found: regex.Match[str], mark: str) -> str | None:
    whole = words_value(found["whole"])
    digits = (words_value(word) or 0 for word in found["decimals"].split())
    return None if whole is None else f"{whole}{mark}{''.join(map(str, digits))}"


def _decade(tens: str) -> str:
    value = words_value(tens.lower().removesuffix("s").replace("ie", "y"))
    return f"{(value or 0) % 100:02}"
