"""German addresses, such as An der Alster 12, 20099 Hamburg. Networks translate their words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from model.text.spans import Span

_POSTCODE = re.compile(r"[0-9]{4} [A-ZÄÖÜ]")
"""One cheap look."""
_NUMBER = r"\d{1,3}(?:\ ?[a-z]\b)?(?:\ ?[-–/]\ ?\d{1,3}[a-z]?)?"
_ADDRESS = regex.compile(
    rf"""(?<![\p{{L}}\d_-])(?P<street>
    (?:(?:A[mn]|Auf|Bei|Im|In|Unter|Zu[mr])\ (?:de[mnr]\ )?)?(?:\p{{Lu}}\p{{Ll}}{{2,30}}e[mnrs]?\ )?
    \p{{Lu}}[\p{{L}}.-]{{2,40}}+\ {_NUMBER})
    (?:,\ ?|,?[^\S\n]{{0,4}}\n[^\S\n]{{0,4}}|\ [|·•–-]\ )
    (?P<place>(?:(?:D|A|CH)-)?(?!(?:19|20)\d\d\ )\d{{4,5}}
    \ (?:(?:Bad|Sankt|St\.)\ )?\p{{Lu}}[\p{{L}}-]++
    (?:\ ?\(\p{{Lu}}[\p{{L}}. ]{{1,20}}\)|/\p{{Lu}}\p{{L}}++
    |\ (?:a[mn]|bei|im|in|ob|vor)\ (?:de[mnr]\ )?\p{{Lu}}\p{{L}}++)?)""",
    regex.X,
)


def find_addresses(text: str) -> Iterator[Span]:
    """The streets and places. Linear time."""
    for found in _ADDRESS.finditer(text) if _POSTCODE.search(text) else ():
        yield Span(*found.span("street"))
        yield Span(*found.span("place"))
