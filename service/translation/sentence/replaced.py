"""Parts of a text in place of others, and where its offsets have moved."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import NamedTuple


class Replacement(NamedTuple):
    """text[start:end], to be replaced by `new`."""

    start: int
    end: int
    new: str


class Replaced:
    """A text with parts replaced, and where its offsets have moved."""

    def __init__(self, text: str, replacements: Sequence[Replacement]) -> None:
        self._starts = [replacement.start for replacement in replacements]
        self._ends = [replacement.end for replacement in replacements]
        growth = (len(s.new) - (s.end - s.start) for s in replacements)
        self._growth = [0, *itertools.accumulate(growth)]
        between = map(slice, [0, *self._ends], [*self._starts, len(text)])
        kept = [text[part] for part in between]
        news = [*(replacement.new for replacement in replacements), ""]
        self.text = "".join(part for pair in zip(kept, news, strict=True) for part in pair)

    def offset(self, offset: int) -> int:
        """The new offset of one that is not inside a replacement."""
        return offset + self._growth[bisect.bisect_right(self._ends, offset)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where old text[start:end] is; a part of what was replaced is all of its replacement."""
        first, last = bisect.bisect_right(self._ends, start), bisect.bisect_left(self._ends, end)
        start = min([start, *self._starts[first : first + 1]])
        if last < len(self._starts) and self._starts[last] < end:
            return start + self._growth[first], self._ends[last] + self._growth[last + 1]
        return start + self._growth[first], end + self._growth[last]

    def touches(self, start: int, end: int) -> bool:
        """Whether old text[start:end] overlaps a replacement."""
        index = bisect.bisect_right(self._ends, start)
        return index < len(self._starts) and self._starts[index] < end
