"""Times with a point, as 8.00 bis 12.30 Uhr, Mo 7.00-13.00, `at 8.30`: with a colon, networks and
checks tell them from decimals."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from model.text.spans import Span

_TIME = r"(?:[01]?[0-9]|2[0-4])\.[0-5][0-9](?![\d:]|[.,]\d)"
_FULL = r"(?:[01]?[0-9]|2[0-4])\.(?:00|15|30|45)(?![\d:]|[.,]\d)"
"""Beside another, or where a long sentence is cut, it needs no Uhr behind it."""
_TO = r"(?:\s?[-–—]\s?|\sbis\s)"
_AND = rf"(?:{_TO}|,\s?|\s(?:und|oder|sowie)\s)(?:(?:von|um|ab)\s)?"
_DAY = r"(?:Mo|Di|Mi|Do|Sa|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tags?|Mittwochs?|[Tt]äglich)"
_END = r"(?=$|\n|[,;)]|\.(?!\d)|\s(?:und|oder|sowie|offen|geöffnet|geschlossen)\b)"
_NOT_COUNTED = (
    r"(?!\s?(?:[\p{Sc}%‰°]"
    r"|(?:Euro|EUR|CHF|Franken|Dollar|Cent|Prozent|Meter|Liter|[kmc]?m|k?g|[mc]?l)\b))"
)
_NO_PRICE = (
    r"(?<![\d.,:/§$€£]|(?:Version|Kapitel|Abschnitt|Ziffer|Punkt|Nr\.|Fr\.|CHF|EUR|USD|[§$€£])\s?)"
)
"""No price, and no section either."""
_OF_ENGLISH = rf"(?:\b[Aa]t\s|\b[Ff]rom\s(?={_FULL}\sto\s{_FULL}))"
_AND_OF_ENGLISH = r"(?:,\s|\s(?:to|and|or)\s)"
_END_OF_ENGLISH = (
    rf"(?=$|\n|[,;:!?)]|\.(?!\d)|\s(?:on|in\sthe|every|sharp|to(?:day|night|morrow)|and|or)\b"
    rf"|\sto\s{_FULL})"
)
_DOTTED = regex.compile(
    rf"(?=[0-9]{{1,2}}\.[0-5][0-9]){_NO_PRICE}"
    rf"(?:{_TIME}(?=(?:{_AND}{_TIME}){{0,7}}(?:{_TO}\d\d?)?\s?(?:Uhr|h)\b)"
    rf"|(?<=\b{_DAY}\.?,?\s){_FULL}{_NOT_COUNTED}"
    rf"|(?<={_OF_ENGLISH}(?:{_FULL}{_AND_OF_ENGLISH}){{0,7}}){_FULL}{_END_OF_ENGLISH}"
    rf"|{_FULL}(?=\sbis$|{_TO}{_FULL}{_END})|(?<={_NO_PRICE}{_FULL}{_TO}){_FULL}{_END})"
)

_MAYBE = re.compile(r"[0-9]\.[0-5][0-9]")


def dotted_times(text: str) -> Iterator[Span]:
    """The times of a text that have a point. Linear time."""
    for found in _DOTTED.finditer(text) if _MAYBE.search(text) else ():
        yield Span(*found.span())


def with_colons(text: str) -> str:
    """The text with a colon for the point of each of these times, at the same places."""
    times = [*dotted_times(text)]
    if not times:
        return text
    chars = list(text)
    for time in times:
        chars[text.index(".", *time)] = ":"
    return "".join(chars)
