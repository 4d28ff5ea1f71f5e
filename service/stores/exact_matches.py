"""Which suggestion is for a text: one whose text differs in white space and in the case of the
first letter only, and for HTML without tags also in escapes."""

from __future__ import annotations

import html
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import regex

from service.translation.job import TextFormat

_FIRST_LETTER = regex.compile(r"""\A(?:[\s("'\p{Pi}„‚¿¡]*+)(\p{L})""")
"""At the beginning, or after a quote: not that of a tag, an entity or a placeholder."""
_MOST_CHARACTERS = 20_000
"""Of a text that may have a suggestion."""
_MOST_FOUND = 1000


class Probe(NamedTuple):
    """What the text of a suggestion must have: this key, and one of these formats. `is_escaped`:
    its translation is plain text that must be escaped."""

    key: str
    formats: tuple[TextFormat, ...]
    is_escaped: bool = False


def match_key(text: str) -> str:
    """Texts with the same key match."""
    text = " ".join(text.split())
    first = _FIRST_LETTER.search(text)
    if first is None:
        return text
    return text[: first.start(1)] + first[1].lower() + text[first.end() :]


def probes_of(text: str, text_format: TextFormat) -> Iterator[Probe]:
    """What to look for, the best first. A suggestion of the format "auto" is as the text is."""
    if len(text) > _MOST_CHARACTERS:
        return
    if text_format == "html" and "<" not in text:
        yield Probe(match_key(text), ("html",))
        yield Probe(match_key(html.unescape(text)), ("text", "auto"), is_escaped=True)
    elif text_format == "auto":
        yield Probe(match_key(text), ("auto", "text", "html"))
    else:
        yield Probe(match_key(text), (text_format, "auto"))


def adapted(text: str, suggestion: str) -> str:
    """The suggestion with the outer white space of the text, and with a first capital if the text
    has one."""
    inner = suggestion.strip()
    first, of_text = _FIRST_LETTER.search(inner), _FIRST_LETTER.search(text)
    if first is not None and of_text is not None and of_text[1].isupper():
        inner = inner[: first.start(1)] + first[1].upper() + inner[first.end() :]
    return text[: len(text) - len(text.lstrip())] + inner + text[len(text.rstrip()) :]


class TextIndex:
    """The ids of texts by their keys, in 16 bytes a text. What it finds must be compared: it keeps
    a hash of each key."""

    def __init__(self, texts: Iterable[tuple[int, str]]) -> None:
        """`texts` with their ids."""
        hashes, ids = array("q"), array("q")
        for number, text in texts:
            hashes.append(hash(match_key(text)))
            ids.append(number)
        own = np.array(hashes, np.int64)
        order = np.argsort(own, kind="stable")
        self._hashes, self._ids = own[order], np.array(ids, np.int64)[order]
        self.is_empty = not ids

    def find(self, key: str) -> list[int]:
        """The ids of the last texts that may have this key."""
        wanted = np.int64(hash(key))
        first = int(np.searchsorted(self._hashes, wanted, "left"))
        last = int(np.searchsorted(self._hashes, wanted, "right"))
        found: list[int] = self._ids[max(first, last - _MOST_FOUND) : last].tolist()
        return found
