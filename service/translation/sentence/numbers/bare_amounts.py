"""Amounts outside sentences, such as a price alone in a cell: their marks become the target's."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from model.text.spans import Span
from service.translation.markup.flow import MARK, Flow
from service.translation.sentence.numbers.amounts import localised

_SIGN = r"[\p{Sc}%‰]"
_BESIDE = r"\s|()\[\]–—\-"
_AMOUNT = regex.compile(
    rf"(?<![^{_BESIDE}+−±\p{{Sc}}])(?P<before>(?<={_SIGN}\s?))?(?P<number>\d{{1,9}}(?:[.,]\d{{1,9}}){{1,4}})"
    rf"(?(before)|\s?{_SIGN})(?![^{_BESIDE}\p{{Sc}}%‰,;:]|[,:]\S|[–—-]\d)"
)
MEASURE = regex.compile(r"\p{Sc}|[\p{L}°µ℃℉][\p{L}/]{0,4}[²³]?")
"""A currency sign or a unit, which is kept."""
_LEAST = len("€1,5")


def usual_amounts(flow: Flow, span: Span, pair: tuple[str, str]) -> Iterator[tuple[int, str]]:
    """The offsets of the marks that the target writes otherwise, of the amounts with a currency or
    a unit in a part of a flow, and how it writes each."""
    if span.end - span.start < _LEAST:
        return
    for found in _AMOUNT.finditer(_shown(flow, span)):
        number = found["number"]
        usual = localised(number, *pair) or number
        for offset, (old, new) in enumerate(zip(number, usual, strict=True)):
            if old != new:
                yield span.start + found.start("number") + offset, new


def _shown(flow: Flow, span: Span) -> str:
    """The part with a sign in place of the mark of each currency or unit."""
    first, *others = flow.text[slice(*span)].split(MARK)
    kept = flow.kept_between(*span)
    signs = ("€" if MEASURE.fullmatch(one.text.strip()) else MARK for one in kept)
    return "".join([first, *(f"{sign}{other}" for sign, other in zip(signs, others, strict=True))])
