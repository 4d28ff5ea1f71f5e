"""The pairs that a recipe trains on for its terms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from model.text.tokenizer import Tokenizer
from model.training.alignment import Pair
from model.training.recipe import TermsTable
from model.training.terms import term_pairs

TABLE = TermsTable(weight=1.0)
NOUNS = {"house": "Haus", "tree": "Baum", "river": "Fluss"}
VERBS = {"sees": "sieht", "paints": "malt", "likes": "mag", "knows": "kennt", "draws": "zeichnet"}
CORPUS: list[Pair] = [(f"he {v} {n}", f"er {VERBS[v]} {NOUNS[n]}") for v in VERBS for n in NOUNS]


def made(table: TermsTable, tokenizer: Tokenizer) -> list[tuple[Pair, tuple[int, ...]]]:
    return [(pair.pair, pair.source_sides) for pair in term_pairs([CORPUS], table, tokenizer)]


def test_a_term_is_there_as_it_is_and_capitalised(tiny_tokenizer: Tokenizer) -> None:
    pairs = made(TABLE, tiny_tokenizer)
    assert (("house", "Haus"), (0, 1)) in pairs
    assert (("House", "Haus"), (0, 1)) in pairs
    assert (("Sees", "Sieht"), (0, 1)) in pairs
    assert max(Counter(pairs).values()) == 1
    assert not {pair for pair, _ in pairs} & set(CORPUS)


@pytest.mark.parametrize("contexts", [1, 2, 4])
def test_each_term_is_in_as_many_sentences_as_wanted_or_in_all(
    tiny_tokenizer: Tokenizer, contexts: int
) -> None:
    pairs = made(replace(TABLE, contexts=contexts), tiny_tokenizer)
    shown = [pair for pair, _ in pairs if pair in CORPUS]
    assert len(shown) == len(set(shown))
    assert len(shown) < len(CORPUS) or contexts > len(NOUNS)
    for noun, verb in zip(NOUNS, VERBS, strict=False):
        for word, most in ((noun, len(VERBS)), (verb, len(NOUNS))):
            assert sum(word in first for first, _ in shown) >= min(contexts, most)


def test_terms_of_too_few_corpora_are_left_out(tiny_tokenizer: Tokenizer) -> None:
    """The river is in the second corpus only."""
    with_river = [pair for pair in CORPUS if "river" in pair[0]]
    others = [pair for pair in CORPUS if pair not in with_river]
    split = [others[:6], [*others[6:], *with_river]]
    found = [
        {pair.pair for pair in term_pairs(split, replace(TABLE, corpora=n), tiny_tokenizer)}
        for n in (1, 2, 3)
    ]
    assert {("river", "Fluss"), ("house", "Haus")} <= found[0]
    assert ("house", "Haus") in found[1]
    assert ("river", "Fluss") not in found[1]
    assert not found[2]


def test_they_depend_only_on_the_table(tiny_tokenizer: Tokenizer) -> None:
    table = replace(TABLE, contexts=1, pairs=12)
    assert made(table, tiny_tokenizer) == made(table, tiny_tokenizer)
    others = [made(replace(table, seed=seed), tiny_tokenizer) for seed in (2, 3)]
    assert others[0] != others[1]


@pytest.mark.parametrize("pairs", [0, 2])
def test_too_few_pairs_make_none(tiny_tokenizer: Tokenizer, pairs: int) -> None:
    assert made(replace(TABLE, pairs=pairs), tiny_tokenizer) == []
    assert term_pairs([], TABLE, tiny_tokenizer) == []
