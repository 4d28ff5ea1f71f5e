"""Words are linked to their translations, in whatever order, and never beyond their sentence."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.training.word_links import Ints, link_words

Sentence = tuple[list[int], list[int]]
SENTENCES = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=5), st.lists(st.integers(0, 6), max_size=5)),
    max_size=6,
)


def made(count: int, order: int) -> list[Sentence]:
    """Sentences of different words: the second side has 100 more for each word, in the same order
    (1) or in reverse (-1)."""
    rng = random.Random(1)
    firsts = [rng.sample(range(12), rng.randint(2, 5)) for _ in range(count)]
    return [(first, [100 + word for word in first][::order]) for first in firsts]


def as_words(sentence: Sentence, links: Ints) -> set[tuple[int, int]]:
    return {(sentence[0][row], sentence[1][column]) for row, column in links.tolist()}


@pytest.mark.parametrize(("order", "least"), [(1, 1.0), (-1, 0.95)])
def test_words_are_linked_to_their_translations(order: int, least: float) -> None:
    """In reverse order nearly all: the prior prefers the same order."""
    sentences = made(1000, order)
    found = [as_words(s, links) for s, links in zip(sentences, link_words(sentences), strict=True)]
    wanted = [{(word, 100 + word) for word in first} for first, _ in sentences]
    right = sum(len(a & b) for a, b in zip(found, wanted, strict=True))
    assert right >= least * sum(map(len, wanted))
    assert right >= least * sum(map(len, found))


@settings(max_examples=80, deadline=None)
@given(SENTENCES)
def test_links_stay_inside_their_sentence(sentences: list[Sentence]) -> None:
    found = link_words(sentences)
    assert len(found) == len(sentences)
    for (first, second), links in zip(sentences, found, strict=True):
        assert links.shape[1:] == (2,)
        assert np.all(links >= 0)
        assert np.all(links < [len(first), len(second)])
        assert len({(row, column) for row, column in links.tolist()}) == len(links)
