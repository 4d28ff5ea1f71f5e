"""Where tokens stand in a text, in Unicode code points of the text as it was given."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import regex

from model.text.normalisation import visible_offsets

_GRAPHEME = regex.compile(r"\X")


class Span(NamedTuple):
    """text[start:end]"""

    start: int
    end: int


NOWHERE = Span(0, 0)
"""The span of a tag or of the end of sentence."""


class _Part(Protocol):
    """Of a text: text[start:end]."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


PartT = TypeVar("PartT", bound=_Part)


def disjoint(parts: Iterable[PartT]) -> list[PartT]:
    """The parts of a text that share nothing with one that comes earlier, in the order of their
    places. Linear time."""
    taken: set[int] = set()
    kept: list[PartT] = []
    for part in parts:
        places = range(part.start, part.end)
        if taken.isdisjoint(places):
            taken.update(places)
            kept.append(part)
    return sorted(kept, key=lambda part: part.start)


def char_spans(text: str, is_cleaned: bool) -> list[Span]:
    """The span that each character of the tokenizer's input comes from: of the text itself, or if
    `is_cleaned` of its NFC form without invisible characters."""
    if not is_cleaned or text.isascii():
        return [Span(i, i + 1) for i in range(len(text))]
    offsets = visible_offsets(text)
    visible = "".join([text[i] for i in offsets])
    return [Span(offsets[start], offsets[end - 1] + 1) for start, end in _composed_spans(visible)]


def token_spans(
    text: str,
    offsets: Sequence[tuple[int, int]],
    chars: Sequence[Span],
    is_byte: Sequence[bool],
) -> list[Span]:
    """Spans of tokens in the original text, without white space around them.

    `offsets`: where each token stands in `text`, whose characters come from `chars`. All bytes of
    a character have its span, although sentencepiece gives it to the last one only.
    """
    spans = [_trimmed(text, start, end) for start, end in offsets]
    for i in reversed(range(len(spans) - 1)):
        if is_byte[i] and is_byte[i + 1] and offsets[i] == (offsets[i + 1][0],) * 2:
            spans[i] = spans[i + 1]
    return [
        Span(chars[start].start, chars[end - 1].end) if start < end else NOWHERE
        for start, end in spans
    ]


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _composed_spans(text: str) -> list[Span]:
    """The span that each character of the text's NFC form comes from: grapheme by grapheme, which
    compose independently of each other, or else the whole text."""
    if unicodedata.is_normalized("NFC", text):
        return [Span(i, i + 1) for i in range(len(text))]
    spans: list[Span] = []
    parts: list[str] = []
    for match in _GRAPHEME.finditer(text):
        cluster, start = match.group(), match.start()
        composed = unicodedata.normalize("NFC", cluster)
        parts.append(composed)
        if composed == cluster:
            spans += [Span(i, i + 1) for i in range(start, match.end())]
        else:
            spans += [Span(start, match.end())] * len(composed)
    whole = unicodedata.normalize("NFC", text)
    return spans if "".join(parts) == whole else [Span(0, len(text))] * len(whole)
