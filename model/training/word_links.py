"""Link the words of sentence pairs: IBM model 2 in both directions, made symmetric.

Model 1 (Brown et al. 1993) by expectation maximisation, with a fixed prior for positions near the
diagonal (Dyer et al. 2013) and smoothed translation probabilities (Moore 2004). The two directions'
best links are combined by grow-diag (Koehn et al. 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
WordIds = Sequence[int]
_ROUNDS = 5
_TENSION = 3.0
"""How fast the prior falls with the distance from the diagonal."""
_NO_LINK = 0.08
"""The prior of a word without a counterpart."""
_SMOOTHING = 0.01


@dataclass(frozen=True)
class _Cells:
    """Every word of a first side with every word of its second side; all sentences, flat.

    A cell has the number of its word on each side, counted over all sentences (`words`), the
    distinct word pair (`pair`), and its place in the sentence: row, column, rows, columns.
    """

    words: tuple[Ints, Ints]
    pair: Ints
    row: Ints
    column: Ints
    rows: Ints
    columns: Ints


def link_words(sentences: Sequence[tuple[WordIds, WordIds]]) -> list[Ints]:
    """Ids of the words of each side -> for each sentence the links, (links, 2): row and column.

    Memory and time grow with the product of the lengths of a sentence's sides.
    """
    if not any(first and second for first, second in sentences):
        return [np.zeros((0, 2), dtype=np.int64) for _ in sentences]
    ids = tuple(
        np.concatenate([np.asarray(s[side], np.int64) for s in sentences]) for side in (0, 1)
    )
    sizes = np.array([[len(first), len(second)] for first, second in sentences], dtype=np.int64)
    cells, pairs = _cells(sizes, (ids[0], ids[1]))
    best = [_best(cells, pairs, (ids[0], ids[1]), side) for side in (0, 1)]
    linked = _grown(cells, best[0] & best[1], best[0] | best[1])
    chosen = np.flatnonzero(linked)
    links = np.stack([cells.row[chosen], cells.column[chosen]], axis=1)
    ends = np.searchsorted(chosen, np.cumsum(sizes[:, 0] * sizes[:, 1]))
    return np.split(links, ends[:-1])


def _cells(sizes: Ints, ids: tuple[Ints, Ints]) -> tuple[_Cells, tuple[Ints, Ints]]:
    """The cells, and the ids of the distinct word pairs."""
    count = sizes[:, 0] * sizes[:, 1]
    sentence = np.repeat(np.arange(len(sizes)), count)
    within = np.arange(count.sum()) - (np.cumsum(count) - count)[sentence]
    rows, columns = sizes[sentence, 0], sizes[sentence, 1]
    row, column = np.divmod(within, columns)
    starts = np.cumsum(sizes, axis=0) - sizes
    words = starts[sentence, 0] + row, starts[sentence, 1] + column
    breadth = int(ids[1].max()) + 1
    distinct, pair = np.unique(ids[0][words[0]] * breadth + ids[1][words[1]], return_inverse=True)
    first, second = np.divmod(distinct, breadth)
    return _Cells(words, pair, row, column, rows, columns), (first, second)


def _best(cells: _Cells, pairs: tuple[Ints, Ints], ids: tuple[Ints, Ints], given: int) -> Flags:
    """The cells that link each word of the other side to its likeliest word of side `given`."""
    made = 1 - given
    prior = _prior(cells, made)
    vocabulary = np.bincount(ids[made])
    alone = (_NO_LINK * vocabulary / len(ids[made]))[ids[made]]
    share = np.full(len(pairs[0]), 1 / np.count_nonzero(vocabulary))
    for _ in range(_ROUNDS):
        score = share[cells.pair] * prior
        total = np.bincount(cells.words[made], score, len(ids[made])) + alone
        expected = np.bincount(cells.pair, score / total[cells.words[made]], len(share))
        norm = np.bincount(pairs[given], expected)
        share = (expected + _SMOOTHING) / (norm + _SMOOTHING * len(vocabulary))[pairs[given]]
    score = share[cells.pair] * prior
    most = alone.copy()
    np.maximum.at(most, cells.words[made], score)
    return np.asarray(score >= most[cells.words[made]])


def _prior(cells: _Cells, made: int) -> NDArray[np.float64]:
    """How likely each position is for a word of side `made`: one in sum, less `_NO_LINK`."""
    distance = np.abs((cells.row + 0.5) / cells.rows - (cells.column + 0.5) / cells.columns)
    prior = np.exp(-_TENSION * distance)
    total = np.bincount(cells.words[made], prior)
    return np.asarray((1 - _NO_LINK) * prior / total[cells.words[made]])


def _grown(cells: _Cells, linked: Flags, either: Flags) -> Flags:
    """Add links of one direction beside accepted ones, where one of the words is not linked yet."""
    linked = linked.copy()
    while True:
        has_link = [np.bincount(w, linked, int(w.max()) + 1) > 0 for w in cells.words]
        is_free = ~(has_link[0][cells.words[0]] & has_link[1][cells.words[1]])
        candidates = np.flatnonzero(either & ~linked & is_free)
        added = candidates[_has_neighbour(cells, linked, candidates)]
        if not len(added):
            return linked
        linked[added] = True


def _has_neighbour(cells: _Cells, linked: Flags, candidates: Ints) -> Flags:
    """Whether one of the eight cells around each candidate is linked."""
    row, column = cells.row[candidates], cells.column[candidates]
    rows, columns = cells.rows[candidates], cells.columns[candidates]
    found = np.zeros(len(candidates), dtype=np.bool_)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            is_inside = (row + down >= 0) & (row + down < rows)
            is_inside &= (column + right >= 0) & (column + right < columns)
            neighbour = candidates + down * columns + right
            found[is_inside] |= linked[neighbour[is_inside]]
    return found
