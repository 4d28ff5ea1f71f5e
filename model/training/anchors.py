"""Align the words of sentence pairs by their co-occurrence in a corpus.

Only reliable pairs are reported: two words must be each other's best match by a wide margin (the
Dice coefficient, Smadja et al. 1996). A Chinese word is one piece of the tokenizer. Counting takes
one pass over a corpus of any size; `word_links` links all words, of as many pairs as fit into
memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.text.spans import Span
from model.text.tokenizer import Tokenizer

Pair = tuple[str, str]
_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\d_\u3400-\u9fff]{3,}")
_MOST_WORDS = 40
"""Per side; in longer sentences too many words co-occur."""
_LEAST_COUNT = 4
_LEAST_DICE, _LEAST_LEAD = 0.25, 2.0


class Anchor(NamedTuple):
    """A span of the first side and its translation in the second side."""

    first: Span
    second: Span

    def overlaps(self, other: Anchor) -> bool:
        """Whether they share a character on any side."""
        return any(a.start < b.end and b.start < a.end for a, b in zip(self, other, strict=True))


class Aligner:
    """The reliable word pairs of a corpus."""

    def __init__(self, pairs: Iterable[Pair], tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._dice = _dice([(self._words(first), self._words(second)) for first, second in pairs])

    def anchors(self, pair: Pair) -> list[Anchor]:
        """Words that translate each other; each span is in one anchor. In the first side's
        order."""
        first, second = (_once(self._spans(side), side) for side in pair)
        if not (0 < len(first) <= _MOST_WORDS and 0 < len(second) <= _MOST_WORDS):
            return []
        dice = self._dice.get
        scores = np.array([[dice((a, b), 0.0) for b in second] for a in first])
        sides = list(first.values()), list(second.values())
        return [Anchor(sides[0][i], sides[1][j]) for i, j in _mutual_best(scores)]

    def _words(self, text: str) -> set[str]:
        return {text[start:end].lower() for start, end in self._spans(text)}

    def _spans(self, text: str) -> list[Span]:
        return [span for run in _RUN.finditer(text) for span in self._run_spans(run)]

    def _run_spans(self, run: re.Match[str]) -> Iterator[Span]:
        """A word of letters is one span; Chinese characters give one span per piece."""
        text, start = run.group(), run.start()
        if "\u3400" <= text[0] <= "\u9fff":
            (ids,) = self._tokenizer.encode_target_batch([text])
            pieces = [piece for p in self._tokenizer.pieces(ids) if (piece := p.lstrip("▁"))]
            if "".join(pieces) == text:
                for piece in pieces:
                    yield Span(start, start + len(piece))
                    start += len(piece)
                return
        yield Span(run.start(), run.end())


def _once(spans: Sequence[Span], text: str) -> dict[str, Span]:
    """Words that occur once in the sentence, with their spans."""
    words = [text[start:end].lower() for start, end in spans]
    count = Counter(words)
    return {word: span for word, span in zip(words, spans, strict=True) if count[word] == 1}


def _dice(sentences: Sequence[tuple[set[str], set[str]]]) -> dict[tuple[str, str], float]:
    """2 |A and B| / (|A| + |B|), where A and B are the sentence pairs with each word."""
    names: list[list[str]] = []
    counts: list[NDArray[np.int64]] = []
    for side in (0, 1):
        count = Counter(word for sentence in sentences for word in sentence[side])
        names.append([word for word, n in count.items() if n >= _LEAST_COUNT])
        counts.append(np.array([count[word] for word in names[side]], dtype=np.int64))
    together, number = _together(sentences, names)
    first, second = np.divmod(together, max(len(names[1]), 1))
    dice = 2 * number / (counts[0][first] + counts[1][second])
    kept = (dice >= _LEAST_DICE / 4) & (number >= _LEAST_COUNT)
    return {
        (names[0][a], names[1][b]): float(value)
        for a, b, value in zip(first[kept], second[kept], dice[kept], strict=True)
    }


def _together(
    sentences: Sequence[tuple[set[str], set[str]]], names: Sequence[Sequence[str]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Word pairs as first * len(names[1]) + second, and the number of sentences with both."""
    ids = [{word: i for i, word in enumerate(side)} for side in names]
    keys = [np.zeros(0, dtype=np.int64)]
    for sentence in sentences:
        if max(map(len, sentence)) <= _MOST_WORDS:
            first, second = (
                np.array([side_ids[w] for w in words if w in side_ids], dtype=np.int64)
                for words, side_ids in zip(sentence, ids, strict=True)
            )
            keys.append((first[:, None] * len(names[1]) + second).ravel())
    return np.unique(np.concatenate(keys), return_counts=True)


def _mutual_best(scores: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Cells above the threshold that exceed the rest of their row and column by a wide margin."""
    padded = np.pad(scores, (0, 1))
    rows, columns = np.sort(padded, axis=1)[:-1, -2:], np.sort(padded, axis=0)[-2:, :-1]
    others = np.maximum(rows[:, :1], columns[:1])
    is_best = (scores == rows[:, 1:]) & (scores == columns[1:])
    for i, j in np.argwhere(is_best & (scores >= np.maximum(_LEAST_DICE, _LEAST_LEAD * others))):
        yield int(i), int(j)
