"""Terms are phrases that the corpus translates the same way again and again."""

from __future__ import annotations

import itertools
import random

from model.text.tokenizer import Tokenizer
from model.training.alignment import Pair
from model.training.terms import find_terms

NOUNS = {"house": "Haus", "tree": "Baum", "river": "Fluss", "garden": "Garten", "bridge": "Brücke"}
VERBS = {"sees": "sieht", "paints": "malt", "likes": "mag", "knows": "kennt"}
PEOPLE = {"Anna": "Anna", "nobody": "niemand", "everyone": "jeder"}
FILLERS = [f"w{letter}{other}" for letter in "abcdefgh" for other in "abcdef"]


def sentences(noun: str, translation: str, count: int) -> list[Pair]:
    rng = random.Random(noun)
    pairs = []
    for _ in range(count):
        person, verb = rng.choice(list(PEOPLE)), rng.choice(list(VERBS))
        first = f"{person} {verb} {noun}"
        pairs.append((first, f"{PEOPLE[person]} {VERBS[verb]} {translation}"))
    return pairs


def corpus() -> list[Pair]:
    """Sentences of few words, and so many of others that the few are not the commonest."""
    rng = random.Random(1)
    words = [rng.sample(FILLERS, 2) for _ in range(1500)]
    fillers = [(f"{a} {b}", f"{a}o {b}o") for a, b in words]
    nouns = [sentences(f"small {a}", f"kleine {b}", 8) for a, b in NOUNS.items()]
    return [*fillers, *itertools.chain(*nouns, *(sentences(a, b, 8) for a, b in NOUNS.items()))]


def test_words_and_phrases_are_terms_with_their_places(tiny_tokenizer: Tokenizer) -> None:
    pairs = [*corpus(), *sentences("deep learning", "Lernen tiefer Art", 6)]
    terms = {term.pair: term for term in find_terms(pairs, tiny_tokenizer)}
    assert terms["house", "Haus"].source_sides == (0, 1)
    phrase = terms["deep learning", "Lernen tiefer Art"]
    assert phrase.places == tuple(range(len(pairs) - 6, len(pairs)))
    for term in terms.values():
        assert list(term.places) == sorted(set(term.places))
        for first, second in (pairs[place] for place in term.places):
            assert term.pair[0].lower() in first.lower()
            assert term.pair[1].lower() in second.lower()
