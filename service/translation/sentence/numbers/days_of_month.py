"""Days of a month that has no name, as 每月15日: networks write 15 months, or January 15."""

from __future__ import annotations

from collections.abc import Iterator

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


def find_days_of_month(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those of a Chinese text in digits, as the 15th of each month."""
    for found in _DAYS.finditer(text) if (source, target) == ("zh", "en") else ():
        days = [int(day) for day in found.captures("day")]
        if all(1 <= day <= _LAST_DAY for day in days):
            joint = " and " if (found["joint"] or "") in "和与及、" else " to "
            written = joint.join(f"the {ordinal(day)}" for day in days)
            yield Replacement(*found.span(), f"{written} of {_MONTHS[found['which']]}")
