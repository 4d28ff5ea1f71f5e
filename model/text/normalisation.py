"""Unicode normalisation of texts before they are tokenised."""

from __future__ import annotations

import itertools
import unicodedata

import regex

_MARKS = regex.compile(r"\P{Canonical_Combining_Class=0}{30}")


def normalise(text: str) -> str:
    """Apply Unicode NFC; full-width punctuation stays, because Chinese uses it.

    A run of more than 30 combining marks, which no language writes, is normalised in parts, as in
    Unicode's stream-safe text format (UAX #15): sorting a run takes time quadratic in its length.
    """
    if text.isascii():
        return text
    cuts = [0, *(run.end() for run in _MARKS.finditer(text)), len(text)]
    return "".join(unicodedata.normalize("NFC", text[a:b]) for a, b in itertools.pairwise(cuts))
