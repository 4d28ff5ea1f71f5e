"""English and German times in words: networks take half past three and halb drei for the same, and
ten to five for ten until five."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import TO_TWELVE, words_value
from service.translation.sentence.replaced import Replacement

_MINUTES = {
    "en": {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25},
    "de": {"viertel": 15, "fünf": 5, "zehn": 10, "zwanzig": 20, "dreiviertel": -15},
}
_BEFORE = frozenset({"to", "vor"})
_HOUR = {
    language: rf"(?P<hour>{'|'.join(hours)}|1[0-2]|[1-9])(?![\p{{L}}\d%]|[-:.,]\d|-\p{{L}})"
    for language, hours in TO_TWELVE.items()
}
_SPOKEN = {
    "en": regex.compile(
        r"(?<![\p{L}\d-])(?:(?P<minutes>half)\s(?P<side>past)"
        r"|(?:an?\s)?(?P<minutes>quarter)\s(?P<side>past|to)"
        r"|(?P<minutes>five|ten|twenty(?:[- ]five)?)\s(?:minutes\s(?P<side>past|to)|(?P<side>past)"
        r"|(?<=\b(?:[Ii]t['’]s|[Ii]t\s(?:is|was)|[Aa]t|[Uu]ntil|[Tt]ill|[Bb]y)\s\P{N}{1,14})(?P<side>to)))"
        rf"\s{_HOUR['en']}(?!\s(?:quarters?|hundred|thousand|[mb]illion|percent|years|people)\b)"
        r"(?:\so['’]clock\b|\s?(?P<of_day>[ap])\.?\s?m\b(?:\.(?=\W*+\w))?)?",
        regex.IGNORECASE,
    ),
    "de": regex.compile(
        r"(?<![\p{L}\d-])(?:(?P<minutes>(?i:viertel))\s(?P<side>vor|nach)|(?P<minutes>(?i:dreiviertel))"
        r"|(?P<minutes>(?i:fünf|zehn|zwanzig))(?:\sMinuten)?\s(?P<side>vor|nach)(?P<half>\shalb)?"
        rf"|(?P<half>[Hh]alb))\s{_HOUR['de']}(?!\s\p{{Lu}}(?!hr))(?:\sUhr\b)?"
    ),
}
_HALF = 12


def find_spoken_hours(text: str, language: str) -> Iterator[Replacement]:
    """Those of a text, in digits; of a whole day if they tell their half of it."""
    for found in _SPOKEN[language].finditer(text):
        word, of_day = found["hour"], found.groupdict().get("of_day")
        hour = int(word) if word.isdecimal() else words_value(word) or 0
        hour = hour % _HALF + _HALF * (of_day in {"p", "P"})
        hour, minute = divmod(60 * hour + _minutes(found, language), 60)
        hour = hour % (2 * _HALF) if of_day else hour % _HALF or _HALF
        yield Replacement(*found.span(), f"{hour}:{minute:02}")


def _minutes(found: regex.Match[str], language: str) -> int:
    """From the hour on; those before it are negative."""
    minutes = _MINUTES[language].get((found["minutes"] or "").lower().replace(" ", "-"), 0)
    if found["side"] in _BEFORE:
        minutes = -minutes
    return minutes - 30 if found.groupdict().get("half") else minutes
