"""A sentence's shortlist is what Marian's is for a batch of one sentence."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from model.network.shortlist import Shortlist, ShortlistError

EOS = 9


def shortlist_of(
    first: int, lists: Sequence[Sequence[int]], vocabulary: int, inseparable: Sequence[int] = ()
) -> Shortlist:
    offsets = np.cumsum([0, *map(len, lists)])
    tokens = np.array([token for own in lists for token in own], np.int32)
    return Shortlist(first, offsets, tokens, vocabulary, EOS, inseparable)


@pytest.mark.parametrize("seed", range(40))
def test_a_list_has_the_first_tokens_those_of_its_source_and_some_to_make_eights(
    seed: int,
) -> None:
    rng = random.Random(seed)
    vocabulary = rng.randint(10, 300)
    lists = [rng.sample(range(vocabulary), rng.randint(0, 8)) for _ in range(rng.randint(1, 60))]
    first, of_a_character = rng.choice([0, 1, 5, 60]), rng.sample(range(vocabulary), 3)
    made = shortlist_of(first, lists, vocabulary, of_a_character)
    for _ in range(20):
        source = [rng.randrange(len(lists) + 3) for _ in range(rng.randint(1, 20))]
        expected = {*range(min(first, vocabulary)), EOS}
        expected.update(*(lists[token] for token in source if token < len(lists)))
        expected |= set(of_a_character) if expected & set(of_a_character) else set()
        more = (token for token in range(first, vocabulary) if token not in expected)
        expected |= set(itertools.islice(list(more), -len(expected) % 8))
        assert made.of(source).tolist() == sorted(expected)


@pytest.mark.parametrize(
    ("offsets", "tokens", "said"),
    [
        ([0, 1, 3], [5, 6], "its lists do not follow each other"),
        ([0, 2, 1, 2], [5, 6], "its lists do not follow each other"),
        ([1, 2], [5, 6], "its lists do not follow each other"),
        ([], [], "its lists do not follow each other"),
        ([0, 2], [5, 12], "it has the tokens 5 to 12, the model 0 to 11"),
        ([0, 2], [-1, 5], "it has the tokens -1 to 5, the model 0 to 11"),
    ],
)
def test_numbers_that_are_no_shortlist_are_refused(
    offsets: list[int], tokens: list[int], said: str
) -> None:
    with pytest.raises(ShortlistError, match=said):
        Shortlist(1, np.array(offsets, np.int64), np.array(tokens, np.int32), 12, EOS)
