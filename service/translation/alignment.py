"""Which words of a translation stand for which words of its source.

The attention of the decoder to the memory is summed from tokens to words; a link joins two words
of which at least one attends most to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from model.text.words import Span, words
from model.word_attention import Matrix, link_weights, word_attention

_LEAST_WEIGHT = 0.1


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
    mass = word_attention(attention, source_spans, source_words, target_spans, target_words)
    weights = link_weights(mass)
    return [
        AlignmentLink(*source_words[s], *target_words[t], round(float(weights[t, s]), 4))
        for t, s in _linked(weights)
    ]


def _linked(weights: Matrix) -> Iterator[tuple[int, int]]:
    """The (target, source) pairs of words of which one is the other's best."""
    of_target = weights == weights.max(1, keepdims=True)
    of_source = weights == weights.max(0, keepdims=True)
    targets, sources = np.nonzero((of_target | of_source) & (weights >= _LEAST_WEIGHT))
    order = np.lexsort((sources, -weights[targets, sources], targets))
    yield from zip(targets[order].tolist(), sources[order].tolist(), strict=True)
