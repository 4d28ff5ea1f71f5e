"""Which words of a translation stand for which words of its source.

The attention of the decoder to the memory is summed from tokens to words; a link joins two words
of which at least one attends most to the other. The network aligns only the best translation. An
alternative of the same beam shares most of its words: these keep their links, and words that stand
instead of others take theirs.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from model.decoding.word_attention import Matrix, link_weights, word_attention
from model.text.spans import Span
from model.text.words import has_word_characters, words

_LEAST_WEIGHT = 0.1
_MOST_WORDS = 400
"""Of an alternative, that are compared with those of the best translation."""


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
    """The (target, source) pairs of words where one is the best of the other."""
    of_target = weights == weights.max(1, keepdims=True)
    of_source = weights == weights.max(0, keepdims=True)
    targets, sources = np.nonzero((of_target | of_source) & (weights >= _LEAST_WEIGHT))
    order = np.lexsort((sources, -weights[targets, sources], targets))
    yield from zip(targets[order].tolist(), sources[order].tolist(), strict=True)


def links_of_alternative(
    best: str,
    best_words: Sequence[Span],
    links: Sequence[AlignmentLink],
    other: str,
    other_words: Sequence[Span],
) -> list[AlignmentLink]:
    """The links of `other`, given those of `best`; the words are spans of the texts, in order."""
    by_word: Mapping[Span, list[AlignmentLink]] = defaultdict(list)
    for link in links:
        by_word[Span(link.target_start, link.target_end)].append(link)
    moved = []
    for old, new in _counterparts(best, best_words, other, other_words):
        start, end = other_words[new]
        moved += [
            link._replace(target_start=start, target_end=end) for link in by_word[best_words[old]]
        ]
    return moved


def _counterparts(
    best: str, best_words: Sequence[Span], other: str, other_words: Sequence[Span]
) -> Iterator[tuple[int, int]]:
    """For each word of `other` that has one, a word of `best` in whose place it stands."""
    old = [best[start:end] for start, end in best_words[:_MOST_WORDS]]
    new = [other[start:end] for start, end in other_words[:_MOST_WORDS]]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(range(old_start, old_end), range(new_start, new_end), strict=True)
        elif kind == "replace":
            for is_word in (True, False):
                yield from _spread(
                    [
                        k
                        for k in range(old_start, old_end)
                        if has_word_characters(old[k]) is is_word
                    ],
                    [
                        k
                        for k in range(new_start, new_end)
                        if has_word_characters(new[k]) is is_word
                    ],
                )


def _spread(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of words in order, as evenly as the numbers allow; every word is in one if both have
    any."""
    if not old or not new:
        return
    longer = max(len(old), len(new))
    pairs = [
        (old[place * len(old) // longer], new[place * len(new) // longer])
        for place in range(longer)
    ]
    yield pairs[0]
    yield from (pair for before, pair in pairwise(pairs) if pair != before)
