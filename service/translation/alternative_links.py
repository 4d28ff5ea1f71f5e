"""Which words of an alternative translation stand for which words of the source.

The network aligns only the best translation. An alternative of the same beam shares most of its
words: these keep their links, and words that stand instead of others take theirs.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from model.text.words import Span, has_word_characters
from service.translation.alignment import AlignmentLink

_MOST_WORDS = 400


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
        by_word[link.target_start, link.target_end].append(link)
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
