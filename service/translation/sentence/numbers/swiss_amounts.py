"""Swiss amounts, as 10'000 and Fr. 12.50, with the marks of the language: networks copy the
apostrophe, and take Fr. for Freitag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

_GROUPED = r"[0-9]{1,3}(?:['’][0-9]{3})+(?![0-9])"
_CENTS = r"(?:\.(?P<cents>[0-9]{2})(?![0-9]))?+"
_NO_CENTS = r"(?:[.,][-–—]{1,2})?"
_DAY_BEFORE = r"(?<!\b(?:[Aa]m|[Jj]eden|[Vv]om|Mo|Di|Mi|Do)\.?\s?[-–/,+&]?\s?)"
_TIME_AFTER = (
    r"(?!\d|\.\d|\s?(?:Uhr|h)\b|\s?[-–—]\s?\d|\s(?:bis|und|oder)\s\d"
    r"|\s(?:i[mn]|am|beim?)\s|(?<=\.(?:0[1-9]|1[0-2]))\.\W*+\w"
    r"|\.\s?(?:Jan|Feb|M[äa]r|Apr|Ma[iy]|Ju[nl]|Aug|Sep|O[kc]t|Nov|De[zc]))"
)
_AMOUNT = regex.compile(
    rf"(?<![\p{{L}}\d.,'’°-])(?:(?:{_DAY_BEFORE}(?P<francs>S?Fr\.)|(?P<francs>CHF))\s?"
    rf"(?P<whole>{_GROUPED}|[0-9]{{1,6}}+){_CENTS}{_NO_CENTS}{_TIME_AFTER}"
    rf"|(?P<whole>{_GROUPED}){_CENTS}{_NO_CENTS}(?![\p{{L}}\d'’])"
    r"|(?P<whole>[0-9]{1,6}+)\.(?P<cents>[0-9]{2})(?=\s?(?:CHF|Franken|Rappen|francs)\b))",
)
"""Not `Fr. 10.30 Uhr`, which is a day."""
_MAYBE = re.compile("[0-9]['’][0-9]|Fr[.]|CHF|Franken|Rappen|francs")
_MARKS = {"de": (".", ","), "en": (",", ".")}


class SwissAmount(NamedTuple):
    """text[start:end] is an amount: `francs` stands before it, and `number` has the language's
    marks."""

    start: int
    end: int
    francs: str
    number: str


def find_swiss_amounts(text: str, language: str) -> Iterator[SwissAmount]:
    """Those of an English or German text, whose marks are not as the language writes them, or
    whose francs are. Linear time."""
    is_maybe = language in _MARKS and _MAYBE.search(text) is not None
    for found in _AMOUNT.finditer(text) if is_maybe else ():
        group, decimal = _MARKS[language]
        number = regex.sub("['’]", group, found["whole"])
        number += f"{decimal}{found['cents']}" if found["cents"] else ""
        francs = "CHF " if found["francs"] else ""
        if f"{francs}{number}" != found.group():
            yield SwissAmount(*found.span(), francs, number)
