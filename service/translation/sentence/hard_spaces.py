"""Spaces at which no line ends: networks read and write them as usual ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from service.translation.markup.flow import MARK
from service.translation.sentence.stages import Draft

HARD_SPACE = regex.compile("[\u00a0\u202f]")
_SPACES = " \u00a0\u202f"
_PIECE = regex.compile(rf"\p{{N}}++|\p{{L}}++|[{_SPACES}]|\S")
_LINKING = regex.compile(rf"[\p{{N}}\p{{L}}\p{{S}}%‰§–—{MARK}]")
"""What a space beside it belongs to; a comma is none."""
_Side = tuple[int, str]
"""A piece, and whether it is before (-1) or after (1) a space."""


@dataclass(frozen=True)
class HardSpaces:
    """The stage of a sentence with hard spaces, which go in as they are."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with the spaces beside a piece as hard as those beside the same piece of
        the sentence, if both have it as often beside a space."""
        text = list(draft.text)
        places = _places(draft.text, draft.order)
        for side, offsets in _places(self.text, range(self.text.count(MARK))).items():
            found = places.get(side, ())
            as_often = len(offsets) == len(found)
            for source, target in zip(offsets, found, strict=True) if as_often else ():
                if text[target] == " ":
                    text[target] = self.text[source]
        return draft._replace(text="".join(text))


def enter_hard_spaces(text: str) -> HardSpaces | None:
    """The stage of a sentence with hard spaces between other characters."""
    return HardSpaces(text) if HARD_SPACE.search(text.strip()) else None


def _places(text: str, order: Iterable[int]) -> Mapping[_Side, Sequence[int]]:
    """The offsets of the single spaces beside each piece; a kept string is known by its index."""
    marks = iter(order)
    found = list(_PIECE.finditer(text))
    pieces = [f"{MARK}{next(marks, '')}" if one[0] == MARK else one[0] for one in found]
    places: dict[_Side, list[int]] = {}
    for index, match in enumerate(found):
        for step in (-1, 1) if match[0] in _SPACES else ():
            piece = "".join(pieces[index + step : index + step + 1]) if index + step >= 0 else ""
            if _LINKING.match(piece):
                places.setdefault((step, piece), []).append(match.start())
    return places
