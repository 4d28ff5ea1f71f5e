"""Attention between tokens as attention between words, and the weights of links between words.

Shapes: T target and S source tokens, U target and V source words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.text.spans import Span

_FLOOR = 0.05
"""Added to the attention that a source word gets, before it is divided into shares. So a word that
hardly any target word attends to has small shares, and no counterpart."""
Matrix = NDArray[np.floating]


def word_attention(
    attention: Matrix,
    source_spans: Sequence[Span],
    source_words: Sequence[Span],
    target_spans: Sequence[Span],
    target_words: Sequence[Span],
) -> Matrix:
    """Attention (..., T, S) summed over the tokens of each word -> (..., U, V); a token in several
    words is divided by characters. Tokens with an empty span are in no word."""
    columns = _shares(source_spans, source_words)
    rows = _shares(target_spans, target_words)
    mass: Matrix = rows.T @ attention @ columns
    return mass


def link_weights(mass: Matrix) -> Matrix:
    """Attention between words (U, V) -> weights (U, V): the geometric mean of two shares, that of
    the attention which the target word gives, and that of the attention which the source word
    gets."""
    of_target = mass / np.maximum(mass.sum(1, keepdims=True), 1e-9)
    of_source = of_target / (of_target.sum(0) + _FLOOR)
    weights: Matrix = np.sqrt(of_target * of_source)
    return weights


def _shares(spans: Sequence[Span], units: Sequence[Span]) -> Matrix:
    """The part of each token's characters that lies in each word: (tokens, words)."""
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    firsts, lasts = np.array(units, np.int64).T
    overlap = np.minimum(ends[:, None], lasts) - np.maximum(starts[:, None], firsts)
    lengths = np.maximum(ends - starts, 1)[:, None]
    shares: Matrix = overlap.clip(0) / lengths
    return shares
