"""Days of a month that has no name, as 每月15日: networks write 15 months, or January 15, and
每月五月 of the 5th of each month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from service.translation.sentence.ordinals import ordinal
from service.translation.sentence.replaced import Replacement

_MONTHS = {
    "每": "each month",
    "本": "this month",
    "这": "this month",
    "這": "this month",
    "当": "that month",
    "當": "that month",
    "上": "last month",
    "下": "next month",
    "次": "the following month",
}
_DAY = r"(?P<day>[0-9]{1,2})\s?[日号號](?![线線楼樓门門馆館院机機])"
_DAYS = regex.compile(
    rf"(?P<which>[{''.join(_MONTHS)}])[个個]?月的?\s?{_DAY}(?:\s?(?P<joint>[至到～~–—-]|[和与及、])\s?{_DAY})?"
)
_LAST_DAY = 31
_ENGLISH_MONTHS = {
    "each": "每",
    "every": "每",
    "this": "本",
    "that": "当",
    "last": "上",
    "next": "下",
    "the following": "次",
}
_ENGLISH = regex.compile(
    r"(?<![\p{L}\d])[Tt]he (?P<day>[0-9]{1,2})(?:st|nd|rd|th)"
    r"(?: to the (?P<day>[0-9]{1,2})(?:st|nd|rd|th))?"
    rf" of (?P<which>{'|'.join(_ENGLISH_MONTHS)}) month(?!\p{{L}})"
)


def find_days_of_month(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those of a Chinese text in digits, as the 15th of each month, and of an English one as
    每月15日."""
    find = {("zh", "en"): (_DAYS, _in_english), ("en", "zh"): (_ENGLISH, _in_chinese)}
    pattern, write = find.get((source, target), (None, _in_english))
    for found in pattern.finditer(text) if pattern else ():
        days = [int(day) for day in found.captures("day")]
        if all(1 <= day <= _LAST_DAY for day in days):
            yield Replacement(*found.span(), write(found, days))


def _in_english(found: regex.Match[str], days: Sequence[int]) -> str:
    joint = " and " if (found["joint"] or "") in "和与及、" else " to "
    written = joint.join(f"the {ordinal(day)}" for day in days)
    return f"{written} of {_MONTHS[found['which']]}"


def _in_chinese(found: regex.Match[str], days: Sequence[int]) -> str:
    return f"{_ENGLISH_MONTHS[found['which']]}月" + "至".join(f"{day}日" for day in days)
