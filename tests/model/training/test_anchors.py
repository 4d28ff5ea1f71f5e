"""Words are linked to their translations, in whatever order; only sure translations are told. Terms
are phrases that the corpus translates the same way again and again."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer
from model.training.anchors import Aligner, Pair
from model.training.terms import find_terms
from model.training.word_links import Ints, link_words

NOUNS = {"house": "Haus", "tree": "Baum", "river": "Fluss", "garden": "Garten", "bridge": "Brücke"}
ADJECTIVES = {"old": "alte", "green": "grüne", "quiet": "stille", "narrow": "schmale"}


def corpus() -> list[Pair]:
    rng = random.Random(1)
    pairs = []
    for _ in range(150):
        adjective, noun = rng.choice(list(ADJECTIVES)), rng.choice(list(NOUNS))
        german = f"Das {ADJECTIVES[adjective]} Ding: {NOUNS[noun]}."
        pairs.append((f"This {noun} looks {adjective} indeed.", german))
    return pairs


@pytest.fixture(scope="module")
def aligner(tiny_tokenizer: Tokenizer) -> Aligner:
    return Aligner(corpus(), tiny_tokenizer)


def words(aligner: Aligner, pair: Pair) -> set[tuple[str, str]]:
    return {
        (pair[0][a.first.start : a.first.end], pair[1][a.second.start : a.second.end])
        for a in aligner.anchors(pair)
    }


def test_words_that_occur_together_are_anchors_in_whatever_order(aligner: Aligner) -> None:
    pair = ("The QUIET river, a bridge", "Brücke und Fluss: Stille")
    assert words(aligner, pair) == {("QUIET", "Stille"), ("river", "Fluss"), ("bridge", "Brücke")}


def test_a_word_that_a_side_has_twice_is_no_anchor(aligner: Aligner) -> None:
    assert words(aligner, ("A river, a river, a tree", "Fluss, Fluss, Baum")) == {("tree", "Baum")}


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


VERBS = {"sees": "sieht", "paints": "malt", "likes": "mag", "knows": "kennt"}
PEOPLE = {"Anna": "Anna", "nobody": "niemand", "everyone": "jeder"}
FILLERS = [f"w{letter}{other}" for letter in "abcdefgh" for other in "abcdef"]


def phrases(noun: str, translation: str, count: int) -> list[Pair]:
    rng = random.Random(noun)
    pairs = []
    for _ in range(count):
        person, verb = rng.choice(list(PEOPLE)), rng.choice(list(VERBS))
        first = f"{person} {verb} {noun}"
        pairs.append((first, f"{PEOPLE[person]} {VERBS[verb]} {translation}"))
    return pairs


def corpus_of_terms() -> list[Pair]:
    """Sentences of few words, and so many of others that the few are not the commonest."""
    rng = random.Random(1)
    words = [rng.sample(FILLERS, 2) for _ in range(1500)]
    fillers = [(f"{a} {b}", f"{a}o {b}o") for a, b in words]
    nouns = [phrases(f"small {a}", f"kleine {b}", 8) for a, b in NOUNS.items()]
    return [*fillers, *itertools.chain(*nouns, *(phrases(a, b, 8) for a, b in NOUNS.items()))]


def test_words_and_phrases_are_terms_with_their_places(tiny_tokenizer: Tokenizer) -> None:
    pairs = [*corpus_of_terms(), *phrases("deep learning", "Lernen tiefer Art", 6)]
    terms = {term.pair: term for term in find_terms(pairs, tiny_tokenizer)}
    assert terms["house", "Haus"].source_sides == (0, 1)
    phrase = terms["deep learning", "Lernen tiefer Art"]
    assert phrase.places == tuple(range(len(pairs) - 6, len(pairs)))
    for term in terms.values():
        assert list(term.places) == sorted(set(term.places))
        for first, second in (pairs[place] for place in term.places):
            assert term.pair[0].lower() in first.lower()
            assert term.pair[1].lower() in second.lower()
