"""How many of all: 3 of 10 goes into Chinese as 3/10, since networks write 10 Page 3, and
{total} Page {page}, where %d of %d change their places unseen. And 24-hour without its hyphen,
which they copy."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_NUMBER = r"\d{1,9}(?:,\d{3})*+(?:\.\d{1,2})?"
_OF = regex.compile(
    rf"(?<![\p{{L}}\d$€£¥/:.,]){_NUMBER}\K (?:out )?of "
    rf"(?=(?!(?:19|20)\d\d\b){_NUMBER}(?![\w/:]))"
)
_CARRIER = r"⟦\d\d?⟧"
_CARRIED = regex.compile(
    r"^(?:(?!(?:An?|Th(?:e|is|at)) )\p{Lu}\p{L}++ )?"
    rf"(?:(?:{_CARRIER}|{_NUMBER})(?: to | ?[-–] ?))?(?:{_CARRIER}\K (?:out )?of "
    rf"(?=(?:{_CARRIER}|{_NUMBER})(?![\w/:]))|{_NUMBER}\K (?:out )?of (?={_CARRIER}))"
)
"""Of carried placeholders at the beginning of a text, behind one word at most."""
_JOINED = regex.compile(
    r"(?<=(?<![\p{L}\d.,:/-])\d{1,4}(?:st|nd|rd|th)?)-(?=\p{Ll}{3,}+(?![\p{L}\d-])\s\p{L})"
)
"""Before a noun; not 3-in-1, 10-year-old and 1-800-flowers."""


def find_counted(text: str, source: str, target: str) -> Iterator[Replacement]:
    """The words between the numbers of an English text, unless the second may be a year, and the
    hyphens behind its numbers."""
    if source == "en" and target == "zh":
        yield from (Replacement(*hyphen.span(), " ") for hyphen in _JOINED.finditer(text))
        for pattern in (_OF, _CARRIED):
            yield from (Replacement(*of.span(), "/") for of in pattern.finditer(text))
