"""Which target tokens the translation of a source may have, so that the output layer scores some
hundreds of them instead of the whole vocabulary, as of Marian's students for CPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
_GROUP = 8
"""Marian fills a list up to a multiple of this."""


class ShortlistError(ValueError):
    """The numbers are no shortlist of the vocabularies; the message says why."""


class Shortlist:
    """For each source token its likely translations, and tokens that each translation may have.

    A list depends on its own sentence only. Tokens that are not on it have no probability.
    """

    def __init__(
        self,
        first: int,
        offsets: NDArray[np.int64],
        tokens: Ids,
        vocabulary: int,
        eos_id: int,
        inseparable: Sequence[int] = (),
    ) -> None:
        """Every list has the first `first` ids of the target's `vocabulary` and `eos_id`. That of
        source token i has tokens[offsets[i]:offsets[i + 1]]; source tokens beyond have none. With
        one of the `inseparable` tokens a list has all of them.

        Raises ShortlistError.
        """
        sizes = np.diff(offsets)
        if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(tokens) or (sizes < 0).any():
            raise ShortlistError("its lists do not follow each other")
        if first < 0:
            raise ShortlistError(f"its lists have {first} tokens first")
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < vocabulary:
            raise ShortlistError(
                f"it has the tokens {tokens.min()} to {tokens.max()}, the model 0 to "
                f"{vocabulary - 1}"
            )
        self._starts: list[int] = offsets.tolist()
        self._tokens, self._first = tokens, min(first, vocabulary)
        self._usual = np.union1d(np.arange(self._first), [eos_id]).astype(np.int32)
        self._inseparable = np.array(inseparable, np.int32)
        self._places = np.arange(vocabulary, dtype=np.int32)

    def of(self, source: Sequence[int]) -> Ids:
        """The tokens that a translation of these source ids may have, in ascending order."""
        starts, tokens, most = self._starts, self._tokens, len(self._starts) - 1
        lists = [tokens[starts[i] : starts[i + 1]] for i in set(source) if i < most]
        listed = _joined([self._usual, *lists])
        if len(self._inseparable) and np.isin(self._inseparable, listed).any():
            listed = _joined([listed, self._inseparable])
        if missing := -len(listed) % _GROUP:
            listed = np.concatenate([listed, self._absent_from(listed, missing)])
            listed.sort()
        return listed

    def _absent_from(self, listed: Ids, count: int) -> Ids:
        """The lowest ids that are not listed, at most `count`."""
        first, places = self._first, self._places
        num_absent = listed[first:] - places[first : len(listed)]  # below each of the others
        ids = first + places[:count] + num_absent.searchsorted(places[:count], side="right")
        return ids[ids < len(places)].astype(np.int32)


def _joined(lists: Sequence[Ids]) -> Ids:
    """All tokens of some lists, ascending, each once."""
    every = np.concatenate(lists)
    every.sort()
    is_new = np.ones(len(every), np.bool_)
    np.not_equal(every[1:], every[:-1], out=is_new[1:])
    return every[is_new]
