"""Words in Latin letters in a text of a script without spaces, such as an English word in Chinese.

A translation into a language with spaces keeps them, but networks translate some into Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from model.text.spans import Span
from service.translation.language.segmentation import is_spaced

_LATIN = re.compile("[A-Za-z\u00c0-\u024f]{2}|[A-Za-z\u00c0-\u024f] ")
"""One cheap look, since few texts have such words."""
_RUN = regex.compile(
    r"""(?<![\p{L}\p{N}_--\p{Han}]|\p{Latin}['’-]) (?=\p{Latin}\ ?\p{Latin})
    (?P<word>\p{Latin}++(?:['’-]\p{Latin}++)*+(?![\p{N}_])) (?:\ (?P>word))*+""",
    regex.V1 | regex.X,
)


def keeps_latin(source: str, target: str) -> bool:
    """Whether a translation keeps such words."""
    return is_spaced(target) and not is_spaced(source)


def find_latin(text: str) -> Iterator[Span]:
    """The runs of such words, in order; a single letter, as in T恤, is none."""
    found = _RUN.finditer(text) if _LATIN.search(text) else ()
    return (Span(*match.span()) for match in found)


def lost_latin(text: str, translation: str) -> int:
    """How many of the runs the translation lacks, in capitals or not."""
    small = translation.casefold()
    return sum(text[start:end].casefold() not in small for start, end in find_latin(text))
