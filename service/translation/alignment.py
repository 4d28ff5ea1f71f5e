"""Which words of a translation stand for which words of its source.

The attention of the decoder to the memory is summed from tokens to words; a link joins two words
of which at least one attends most to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

_WORD_BOUNDARY = regex.compile(r"(?V1w)\b")
_GRAPHEME = regex.compile(r"\X")
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{M}]"
)
_LEAST_WEIGHT = 0.1
_FLOOR = 0.05
"""Attention that a source word must get for half of its share: words that hardly any target word
attends to have no counterpart."""
Matrix = NDArray[np.floating]
Span = tuple[int, int]


class AlignmentLink(NamedTuple):
    """source[source_start:source_end] and target[target_start:target_end] translate each other.

    Offsets are in code points. `weight` (0 to 1) is the geometric mean of two shares: of the target
    word's attention to words that goes to the source word, and of the attention to the source word
    that comes from the target word.
    """

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    weight: float


def link_words(
    source: str,
    target: str,
    source_spans: Sequence[Span],
    target_spans: Sequence[Span],
    attention: Matrix,
) -> list[AlignmentLink]:
    """The links of a sentence in the order of the target, strongest first.

    `attention` (T, S): of each target token over the source tokens; the spans say where the tokens
    stand in the texts, and are empty for those that are no text.
    """
    source_words, target_words = words(source, source_spans), words(target, target_spans)
    if not source_words or not target_words:
        return []
    shares = _shares(source_spans, source_words)
    rows = _shares(target_spans, target_words)
    weights = _weights(rows.T @ attention @ shares)
    return [
        AlignmentLink(*source_words[s], *target_words[t], round(float(weights[t, s]), 4))
        for t, s in _linked(weights)
    ]


def words(text: str, spans: Sequence[Span]) -> list[Span]:
    """The words of a text and its punctuation marks: between the word boundaries of Unicode (UAX
    #29). Where a script has no spaces, between tokens. No grapheme is split."""
    graphemes = {match.start() for match in _GRAPHEME.finditer(text)}
    tokens = {offset for span in spans for offset in span}
    cuts = [
        cut
        for match in _WORD_BOUNDARY.finditer(text)
        if (cut := match.start()) in graphemes and (cut in tokens or not _is_unspaced(text, cut))
    ]
    ends = [*cuts, len(text)]
    return [
        (start, end)
        for start, end in zip([0, *cuts], ends, strict=True)
        if start < end and not text[start:end].isspace()
    ]


def _is_unspaced(text: str, cut: int) -> bool:
    """Whether the characters on both sides are of a script without spaces."""
    if not 0 < cut < len(text):
        return False
    return bool(_UNSPACED.match(text[cut - 1]) and _UNSPACED.match(text[cut]))


def _shares(spans: Sequence[Span], units: Sequence[Span]) -> Matrix:
    """The part of each token's characters that lies in each word: (tokens, words)."""
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    firsts, lasts = np.array(units, np.int64).T
    overlap = np.minimum(ends[:, None], lasts) - np.maximum(starts[:, None], firsts)
    lengths = np.maximum(ends - starts, 1)[:, None]
    shares: Matrix = overlap.clip(0) / lengths
    return shares


def _weights(mass: Matrix) -> Matrix:
    """Attention between words (target words, source words) -> the weights of their links."""
    of_target = mass / np.maximum(mass.sum(1, keepdims=True), 1e-9)
    of_source = of_target / (of_target.sum(0, keepdims=True) + _FLOOR)
    weights: Matrix = np.sqrt(of_target * of_source)
    return weights


def _linked(weights: Matrix) -> Iterator[tuple[int, int]]:
    """The (target, source) pairs of words of which one is the other's best."""
    of_target = weights == weights.max(1, keepdims=True)
    of_source = weights == weights.max(0, keepdims=True)
    targets, sources = np.nonzero((of_target | of_source) & (weights >= _LEAST_WEIGHT))
    order = np.lexsort((sources, -weights[targets, sources], targets))
    yield from zip(targets[order].tolist(), sources[order].tolist(), strict=True)
