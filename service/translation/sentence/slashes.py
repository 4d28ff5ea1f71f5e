"""Words that a sign joins, as in yes/no and Hello,world: networks know the words, but copy what is
joined."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_SIGNS = {"/": " / ", "&": " & ", ",": ", ", ":": ": "}
"""How each sign is written where words are apart."""
_JOINED = regex.compile(
    r"(?:(?<=\p{L}[\p{Ll}\p{M}])(?P<sign>[/&,])|(?<=\b\p{Lu}\p{L}+)(?P<sign>:))(?=\p{L}[\p{Ll}\p{M}])"
)
_SPACED = regex.compile(r"\s(?P<sign>[/&])|(?P<sign>[/&,:])\s")
_APART = regex.compile(r"(?:(?<!\s)\s++)?+(?P<sign>[/&])\s*+|(?P<sign>[,:])\s++")
_BETWEEN = frozenset("/&")
"""Signs between words, unlike the marks of a sentence, of which a translation may have more."""


@dataclass(frozen=True)
class Slashes:
    """The stage of a sentence with joined words: the text with spaces beside the signs, how the
    sentence is written, and which signs join its words."""

    text: str
    _written: Replaced
    _signs: frozenset[str]

    def leave(self, draft: Draft) -> Draft:
        """The translation without spaces beside these signs."""
        signs = [sign for sign in self._signs if self._joins(sign, draft.text)]
        found = [one for one in _APART.finditer(draft.text) if one["sign"] in signs]
        joined = Replaced(draft.text, [Replacement(*one.span(), one["sign"]) for one in found])
        return draft.replaced(joined, self._written)

    def _joins(self, sign: str, translation: str) -> bool:
        """Whether the sign joins words of the translation too."""
        return sign in _BETWEEN or translation.count(sign) == self.text.count(sign)


def enter_slashes(text: str) -> Slashes | None:
    """The stage of a sentence with joined words; None without, and for signs that have spaces
    elsewhere."""
    spaced = {one["sign"] for one in _SPACED.finditer(text)}
    found = [one for one in _JOINED.finditer(text) if one["sign"] not in spaced]
    if not found:
        return None
    parted = [Replacement(*one.span(), _SIGNS[one["sign"]]) for one in found]
    apart = Replaced(text, parted)
    back = [Replacement(*apart.span(*one.span()), one["sign"]) for one in found]
    return Slashes(apart.text, Replaced(apart.text, back), frozenset(one["sign"] for one in found))
