"""Anchors are words whose translation is sure, each with its kind."""

from __future__ import annotations

import itertools

import pytest

from model.text.tokenizer import Tokenizer
from model.training.alignment import Aligner, Pair
from model.training.calibration import known_pairs

WORDS = {"house": "Haus", "Germany": "Deutschland", "tree": "Baum"}
CORPUS: list[Pair] = [
    (f"{one} {i}", f"{other} {i}") for one, other in WORDS.items() for i in range(30)
]


@pytest.fixture(scope="module")
def aligner(tiny_tokenizer: Tokenizer) -> Aligner:
    return Aligner(CORPUS, tiny_tokenizer)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (
            ("In 1999 Tom had 3.5", "Tom hatte 1999 3.5"),
            {"number 1999", "number 3.5", "name Tom"},
        ),
        (("Tom met Tom.", "Tom traf Tom."), set()),
        (("Tom is here.", "Tom ist hier, Tom."), set()),
        (("See Berlin", "在Berlin工作"), {"name Berlin"}),
        (("In 2024", "2024年"), {"number 2024"}),
        (("It is 12", "Es ist 120"), set()),
        (("an old house", "ein altes Haus"), {"word house"}),
        (("to Germany", "nach Deutschland"), {"name Germany"}),
        (("Germany!", "Deutschland!"), {"word Germany"}),
        (("", ""), set()),
    ],
)
def test_anchors_of_a_pair(aligner: Aligner, pair: Pair, expected: set[str]) -> None:
    found = known_pairs(pair, aligner)
    assert {f"{k.kind} {pair[0][slice(*k.anchor.first)]}" for k in found} == expected


def test_no_word_is_in_two_anchors(aligner: Aligner) -> None:
    pair = ("House Germany 5 tree 7", "Haus Deutschland 5 Baum 7")
    found = known_pairs(pair, aligner)
    for side in (0, 1):
        spans = sorted(known.anchor[side] for known in found)
        assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    assert len(found) >= 4
