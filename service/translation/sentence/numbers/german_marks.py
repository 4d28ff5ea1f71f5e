"""German amounts and days that go in as networks know them: 1.299,- € as 1.299 €, 3.Mai as 3. Mai,
and the months of Austria."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_NO_CENTS = regex.compile(
    r"(?<![\d.,'’]|(?<!\d)-)(?P<euros>\d++(?:[.'’]\d{3})*+)(?:,[-–—]|\.[–—])[-–—]?(?![\p{L}\d])"
)
"""1.299,- € or CHF 5.–."""
_TIGHT = regex.compile(r"(?<=(?<![\p{L}\d.,])\d{1,2})\.(?=\p{Lu}\p{Ll}{2})")
"""The point of an ordinal without a space, as in 3.Mai and 1.Platz."""
_MONTHS = {"Jänner": "Januar", "Feber": "Februar"}
_MONTH = regex.compile(r"\b(?:Jänner|Feber)\b")


def find_german_marks(text: str) -> Iterator[Replacement]:
    """What the network reads in place of those of a German text."""
    yield from (Replacement(*one.span(), one["euros"]) for one in _NO_CENTS.finditer(text))
    yield from (Replacement(*one.span(), _MONTHS[one.group()]) for one in _MONTH.finditer(text))
    yield from (Replacement(*one.span(), ". ") for one in _TIGHT.finditer(text))
