"""Unicode normalisation of texts before they are tokenised."""

from __future__ import annotations

import itertools
import re
import unicodedata

import regex

_MARKS = regex.compile(r"\P{Canonical_Combining_Class=0}{30}")
_INVISIBLE = regex.compile(
    r"(?V1)[\u00AD\u034F\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF]"
    r"|[\U000E0000-\U000E0FFF]"
    r"|(?<![\p{Extended_Pictographic}0-9#*])[\uFE00-\uFE0F]"
    r"|(?:(?<=[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{P}\s])|^)"
    r"[\u200C\u200D]"
)
"""Byte order marks, soft hyphens, zero width spaces and direction marks; also variation selectors
and joiners where they have no effect, unlike in emoji and some scripts."""
_MAY_BE_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
"""Their characters: most texts have none, and this search takes a hundredth of the time."""
_SPACES = regex.compile(r"\p{Zs}")


def normalise(text: str) -> str:
    """Apply Unicode NFC; full-width punctuation stays, because Chinese uses it.

    A run of more than 30 combining marks, which no language writes, is normalised in parts, as in
    Unicode's stream-safe text format (UAX #15): sorting a run takes time quadratic in its length.
    """
    if text.isascii():
        return text
    if _MARKS.search(text) is None:
        return unicodedata.normalize("NFC", text)
    cuts = [0, *(run.end() for run in _MARKS.finditer(text)), len(text)]
    return "".join(unicodedata.normalize("NFC", text[a:b]) for a, b in itertools.pairwise(cuts))


def with_plain_spaces(text: str) -> str:
    """Replace each space that is not U+0020, such as the no-break spaces of French, by one that
    is."""
    return text if text.isascii() else _SPACES.sub(" ", text)


def without_invisible(text: str) -> str:
    """Remove the invisible characters from the text."""
    return _INVISIBLE.sub("", text) if _MAY_BE_INVISIBLE.search(text) else text


def visible_offsets(text: str) -> list[int]:
    """The offsets of the characters that `without_invisible` keeps."""
    removed = {i for match in _INVISIBLE.finditer(text) for i in range(*match.span())}
    return [i for i in range(len(text)) if i not in removed]
