"""Words of a sentence and its translation that surely translate each other, by kind.

They measure an alignment without annotated data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from model.text.spans import Span
from model.training.alignment import Aligner, Anchor, Pair

Kind = Literal["number", "name", "word"]
KINDS: tuple[Kind, ...] = ("number", "name", "word")
_NUMBER = r"\d+(?:[.,:]\d+)*"
_LITERAL = re.compile(rf"(?<!\w)(?:{_NUMBER}|[A-Z][A-Za-z]+)(?!\w)|(?<![\w.,:]){_NUMBER}", re.ASCII)
_LEAST_NAME_CHARACTERS = 3


class KnownPair(NamedTuple):
    """An anchor: spans of the first and of the second text, and its kind."""

    kind: Kind
    anchor: Anchor


def known_pairs(pair: Pair, aligner: Aligner) -> list[KnownPair]:
    """The anchors of a pair, no span twice.

    A number, or a word of Latin letters with a capital one first, is an anchor if it occurs
    exactly once in both texts. Other words are anchors if the aligner says so; those with a capital
    letter within the sentence are names.
    """
    found = [
        KnownPair("number" if _spelled(pair[0], anchor.first)[0].isdigit() else "name", anchor)
        for anchor in _literal(pair)
    ]
    for anchor in aligner.anchors(pair):
        if not any(_overlaps(anchor, known.anchor) for known in found):
            found.append(KnownPair("name" if _is_name(pair, anchor) else "word", anchor))
    return found


def _literal(pair: Pair) -> Iterator[Anchor]:
    first, second = ({m.group(): Span(*m.span()) for m in _LITERAL.finditer(t)} for t in pair)
    counts = [Counter(m.group() for m in _LITERAL.finditer(text)) for text in pair]
    for word, span in first.items():
        is_long = word[0].isdigit() or len(word) >= _LEAST_NAME_CHARACTERS
        if is_long and counts[0][word] == counts[1][word] == 1:
            yield Anchor(span, second[word])


def _is_name(pair: Pair, anchor: Anchor) -> bool:
    """Whether the words of both texts begin with a capital letter, as far as their scripts have
    them, and one of them stands behind another word. German nouns fail: the English ones do."""
    if any(_spelled(text, span)[0].islower() for text, span in zip(pair, anchor, strict=True)):
        return False
    return any(
        _spelled(text, span)[0].isupper() and text[: span.start].rstrip()[-1:].isalnum()
        for text, span in zip(pair, anchor, strict=True)
    )


def _overlaps(one: Anchor, other: Anchor) -> bool:
    return any(a.start < b.end and b.start < a.end for a, b in zip(one, other, strict=True))


def _spelled(text: str, span: Span) -> str:
    return text[span.start : span.end]
