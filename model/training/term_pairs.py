"""Training pairs for terms: the terms themselves, and sentence pairs that contain the rare ones.

A corpus shows most of its words rarely; without more of them a small model spells such words from
parts or confuses them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from model.text.tokenizer import Tokenizer
from model.training.alignment import Pair
from model.training.augmentation import MadePair
from model.training.recipe import TermsTable
from model.training.terms import Term, find_terms


def term_pairs(
    corpora: Sequence[Sequence[Pair]], table: TermsTable, tokenizer: Tokenizer
) -> list[MadePair]:
    """Pairs made for the terms of `table.pairs` random pairs of each corpus.

    The result depends only on the corpora, the table and the tokenizer.
    """
    rng = random.Random(table.seed)
    drawn = [rng.sample(corpus, min(len(corpus), table.pairs)) for corpus in corpora]
    pairs = [pair for corpus in drawn for pair in corpus]
    origin = [number for number, corpus in enumerate(drawn) for _ in corpus]
    terms = [
        term
        for term in find_terms(pairs, tokenizer)
        if len({origin[place] for place in term.places}) >= table.corpora
    ]
    made = [
        MadePair(spelled, term.source_sides)
        for term in terms
        for spelled in dict.fromkeys((term.pair, _capitalised(term.pair)))
    ]
    shown = _contexts(terms, table.contexts, rng)
    return [*made, *(MadePair(pairs[place], (0, 1)) for place in shown)]


def _capitalised(pair: Pair) -> Pair:
    """Both sides with an upper-case first letter, as people type a heading or a search."""
    first, second = (side[:1].upper() + side[1:] for side in pair)
    return first, second


def _contexts(terms: Sequence[Term], wanted: int, rng: random.Random) -> list[int]:
    """Places such that each term is in at least `wanted` of them, or in all that it has; the
    rarest terms choose first, and a place counts for all its terms."""
    inside = Counter[int]()
    held: dict[int, list[int]] = {}
    for number, term in enumerate(terms):
        for place in term.places:
            held.setdefault(place, []).append(number)
    chosen: dict[int, None] = {}
    for number in sorted(range(len(terms)), key=lambda n: len(terms[n].places)):
        others = [place for place in terms[number].places if place not in chosen]
        missing = max(0, wanted - inside[number])
        for place in rng.sample(others, min(missing, len(others))):
            chosen[place] = None
            inside.update(held[place])
    return list(chosen)
