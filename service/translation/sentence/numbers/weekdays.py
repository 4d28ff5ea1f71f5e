"""Short names of days of the week, in German and English, where they are beside each other, before
a time or behind a preposition: networks copy the second of names that a sign joins, lose a hyphen,
and make me of Mi."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.calendar_ranges import DAYS
from service.translation.checks.dates import LEAST_LETTERS, MONTHS
from service.translation.sentence.replaced import Replacement

_LETTERS = r"\p{L}\p{M}\p{N}"
_ANY_DAY = {
    code: "|".join(sorted({*days, *days.values()}, reverse=True)) for code, days in DAYS.items()
}
_SIGN = r"(?:\s?[-–/+&]\s?|,\s)"
_MONTHS = {
    code: f"(?:{'|'.join(month[:LEAST_LETTERS] for month in months)})"
    for code, months in MONTHS.items()
}
"""Their beginnings, as they are abbreviated."""
_TO_HOUR = r"\d{1,2}(?:[:.]\d\d)?(?!\d|\s?(?!(?:Uhr|h|und|[ap]\.?m?|and|to)\b)\p{L})"
"""The end of hours, unlike that of a count: no word for what is counted is behind it."""
_BEFORE_TIME = {
    "de": r"(?=(?:(?<!So)|\.),\s⟦|(?<=[,;]\s..)\s⟦"
    r"|\.?[,:]?\s\d{1,2}(?::\d\d\b|\.\d\d\b(?!\s?(?:\p{Sc}|[%°]|(?:Euro|Franken|Prozent|Meter|Liter|k?[gm])\b))"
    rf"|\s?(?:Uhr|h\b)"
    rf"|\s?(?:[–—-]|bis)\s?{_TO_HOUR}"
    rf"|\.\s?(?:\d\d?\.|{_MONTHS['de']})))",
    "en": r"(?=\.?,\s⟦|(?:(?<!S(?:at|un))|(?<=(?:^|[,;:]\s)S(?:at|un)))\s⟦"
    r"|(?:(?<!Sun)|(?<=(?:^|[,;]\s)Sun))\.?:?\s[Cc]losed\b"
    r"|\.?[,:]?\s(?:\d{1,2}(?:[:.]\d\d\b|/\d{1,2}\b|st|nd|rd|th|\s?[ap]\.?m\b"
    rf"|[–—-]{_TO_HOUR}|\s{_MONTHS['en']})|{_MONTHS['en']}\p{{Ll}}*+\.?\s\d))",
}
_JOINED_DAYS = {
    code: regex.compile(
        rf"(?<![{_LETTERS}._/-])(?:{day})"
        rf"(?:(?:\.?(?:{_SIGN}|\s(?:bis|und|oder|to|and|or)\s)(?:{day})(?![{_LETTERS}]))++"
        rf"|{_BEFORE_TIME[code]})(?:\.(?=\W*+\w))?+"
    )
    for code, day in _ANY_DAY.items()
}
"""Days beside each other, as in Mo-Fr and Sat./Sun., or before a time, without a point that ends
the sentence."""
_CLOSED = regex.compile(
    rf"(?<![{_LETTERS}._/-])(?P<day>{_ANY_DAY['de']})(?:(?<!So)|(?<=(?:^|[,;]\s)So))"
    r"\.?:?\s(?:geschlossen|zu|Ruhetag)(?=\s*(?:$|[,;.)\n]))"
)
"""A day on which a shop is closed. So may be another word."""
_PREPOSITIONS = {
    "de": "am|bis|ab|vom|seit|jeden|nächsten|letzten|kommenden|diesen",
    "en": "on|by|until|till|from|since|every|next|last|this|before|after",
}
_DAY_BEHIND = {
    code: regex.compile(
        rf"(?<=\b(?i:{words})\s)(?P<day>{'|'.join(sorted(DAYS[code], reverse=True))})"
        rf"(?![{_LETTERS}_/-]|\s\p{{Lu}}|\.\p{{L}})(?:\.(?=\W*+\w))?+"
    )
    for code, words in _PREPOSITIONS.items()
}
"""Not Sun Microsystems."""
_PARTS_OF_DAYS = {
    code: regex.compile(rf"(?P<day>{day})\.?|(?P<sign>{_SIGN})") for code, day in _ANY_DAY.items()
}


def find_days(text: str, language: str) -> Iterator[Replacement]:
    """Days beside each other, before a time or behind a preposition, as their whole names, with
    spaces between them, and those on which a shop is closed, in a sentence."""
    for joined in _JOINED_DAYS[language].finditer(text):
        days = _PARTS_OF_DAYS[language].sub(lambda part: _part(part, language), joined.group())
        if days != joined.group():
            yield Replacement(*joined.span(), days)
    for day in _DAY_BEHIND[language].finditer(text):
        yield Replacement(*day.span(), DAYS[language][day["day"]])
    for closed in _CLOSED.finditer(text) if language == "de" else ():
        yield Replacement(*closed.span(), f"{_part(closed, language)} ist geschlossen")


def _part(part: regex.Match[str], language: str) -> str:
    """The name of a day, or a sign with spaces."""
    if day := part["day"]:
        return DAYS[language].get(day, day)
    sign = part["sign"].strip().replace("-", "–")
    return ", " if sign == "," else f" {sign} "
