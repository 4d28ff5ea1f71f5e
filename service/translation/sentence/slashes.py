"""Words that a slash joins, as in yes/no: networks know the words, but copy what is joined."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from service.translation.alignment import AlignmentLink
from service.translation.sentence.carriers import Replaced, Replacement
from service.translation.sentence.stages import Version

_JOINED = regex.compile(r"(?<=\p{L}[\p{Ll}\p{M}])/(?=\p{L}[\p{Ll}\p{M}])")
_SPACED = regex.compile(r"\s/|/\s")
_APART = regex.compile(r"(?:(?<!\s)\s++)?+/\s*+")


@dataclass(frozen=True)
class Slashes:
    """The stage of a sentence with joined words: the text with spaces beside the slashes, and how
    the sentence is written."""

    text: str
    _written: Replaced

    def leave(self, version: Version) -> Version:
        """The translation without spaces beside its slashes."""
        slashes = [Replacement(*one.span(), "/") for one in _APART.finditer(version.text)]
        joined = Replaced(version.text, slashes)
        links = [
            AlignmentLink(*self._written.span(*link[:2]), *joined.span(*link[2:4]), link.weight)
            for link in version.links
        ]
        return version._replace(text=joined.text, links=links)


def enter_slashes(text: str) -> Slashes | None:
    """The stage of a sentence with joined words; None without, or if other slashes have spaces."""
    found = list(_JOINED.finditer(text))
    if not found or _SPACED.search(text):
        return None
    apart = Replaced(text, [Replacement(*one.span(), " / ") for one in found])
    back = [Replacement(*apart.span(*one.span()), "/") for one in found]
    return Slashes(apart.text, Replaced(apart.text, back))
