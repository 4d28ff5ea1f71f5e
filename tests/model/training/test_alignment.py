"""Only sure translations of words are told."""

from __future__ import annotations

import random

import pytest

from model.text.tokenizer import Tokenizer
from model.training.alignment import Aligner, Pair

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
