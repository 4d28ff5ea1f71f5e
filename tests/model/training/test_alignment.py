"""Only sure translations of words are told."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from model.text.tokenizer import Tokenizer
from model.training.alignment import Aligner, Pair
from model.training.data import read_pairs

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


def test_words_that_occur_in_every_sentence_are_not_told_apart(aligner: Aligner) -> None:
    for pair in corpus()[:20]:
        assert not {"this", "looks", "indeed"} & {a.lower() for a, _ in words(aligner, pair)}


def test_a_word_that_a_side_has_twice_is_no_anchor(aligner: Aligner) -> None:
    assert words(aligner, ("A river, a river, a tree", "Fluss, Fluss, Baum")) == {("tree", "Baum")}


@pytest.mark.parametrize("pair", [("", ""), ("river", ""), ("1 2 3", "..."), ("xyz abc", "qqq")])
def test_without_known_words_there_are_no_anchors(aligner: Aligner, pair: Pair) -> None:
    assert aligner.anchors(pair) == []


def test_a_sentence_of_very_many_words_has_no_anchors(aligner: Aligner) -> None:
    filler = " ".join(f"word{'abcdefgh'[i % 8]}{'xyzuvw'[i // 8]}" for i in range(48))
    assert aligner.anchors((f"river {filler}", f"Fluss {filler}")) == []


def test_nothing_is_learned_from_nothing(tiny_tokenizer: Tokenizer) -> None:
    assert Aligner([], tiny_tokenizer).anchors(("river", "Fluss")) == []


def test_chinese_words_are_pieces_of_the_vocabulary(
    tiny_tokenizer: Tokenizer, tiny_pairs: Path
) -> None:
    pairs = read_pairs(tiny_pairs)
    aligner = Aligner(pairs, tiny_tokenizer)
    found = {word for pair in pairs for word in words(aligner, pair)}
    assert found
    pieces = {piece.lstrip("▁") for piece in tiny_tokenizer.target_pieces}
    assert all(chinese in pieces for chinese, _ in found)


@pytest.mark.parametrize("pieces", [["▁", "<0xE6>", "<0xB0>", "<0xB4>"], ["▁水", "流"]])
def test_pieces_that_do_not_spell_the_text_make_it_one_word(pieces: list[str]) -> None:
    """As bytes do, and what another Unicode form became."""
    fake = SimpleNamespace(encode_target_batch=lambda texts: [texts], pieces=lambda _: pieces)
    pair = ("水", "water")
    aligner = Aligner([pair] * 5 + [("火", "fire")] * 5, cast(Tokenizer, fake))
    assert words(aligner, pair) == {pair}
