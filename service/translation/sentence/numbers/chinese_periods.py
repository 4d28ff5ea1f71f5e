"""Chinese months and periods as networks know them: they make March of 3个月后, and 203 months of
两年零三个月."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_WORDS = "一两三四五六七八九"
_NUMBER = r"(?:\d{1,3}|⟦\d\d?⟧|[一二两三四五六七八九十]{1,3})"
_MONTHS = regex.compile(r"(?<![\d.,第至到或和与~～–—-])[1-9]\s?(?=个月)")
_UNIT = "(?:个月|周|天|个?小时)"
_JOINT = regex.compile(
    rf"(?<=(?<![\d.,第一二三四五六七八九十百〇零]){_NUMBER}(?:年|个月|周|天))"
    rf"(?:零(?={_NUMBER}{_UNIT})|(?<![1一](?:个月|周|天)|1年(?=12个))(?=(?:\d{{1,2}}|⟦\d\d?⟧){_UNIT}))"
)


def find_periods(text: str) -> Iterator[Replacement]:
    """The number of months in digits, in words, and a mark between the parts of a period; 1周5天
    may be five days a week."""
    for found in _MONTHS.finditer(text):
        yield Replacement(*found.span(), _WORDS[int(found.group()) - 1])
    for found in _JOINT.finditer(text):
        last = found.start() - 1
        yield Replacement(last, found.end(), f"{text[last]}、")
