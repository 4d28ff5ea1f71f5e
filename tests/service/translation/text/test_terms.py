"""The terms of a glossary stand in the translation where the words are that they are linked to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.glossary import GlossaryEntry, GlossaryMatcher
from service.translation.markup.flow import MARK
from service.translation.text.carriers import MarkedText
from service.translation.text.terms import lacks, place_terms
from tests.service.translation.markup.test_placement import links_of


def placed(
    source: str, target: str, pairs: str, *terms: tuple[str, str], begin: int = 0
) -> tuple[str, list[str]]:
    """The translation with the terms, and the sources of those that it lacks."""
    matches = GlossaryMatcher([GlossaryEntry(*term) for term in terms], "en").find(source)
    version = MarkedText(target, (), links_of(source, target, pairs))
    text = place_terms(source, matches, version, "de", begin).text
    return text, [entry.source for entry in lacks(matches, text, "de")]


DOG = ("dog", "Köter")


@pytest.mark.parametrize(
    ("source", "target", "pairs", "terms", "expected"),
    [
        ("a dog", "ein Hund", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("dog here", "Hund hier", "0-0 1-1", [("dog", "der Köter")], ("Der Köter hier", [])),
        ("a dog", "ein Köter", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("a dog", "ein köter", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("a dog", "ein Köterhund", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("two dogs", "zwei Verträge", "0-0 1-1", [("dog", "Vertrag")], ("zwei Verträge", [])),
        ("a dog", "ein Hund", "0-0", [DOG], ("ein Hund", ["dog"])),
        ("dog and dog", "Hund und Köter", "0-0 1-1 2-2", [DOG], ("Köter und Köter", [])),
        ("a dog", "zwei Köter", "0-0", [DOG], ("zwei Köter", [])),
        ("the old dog", "der alte Hund", "0-0 1-1 2-2", [("old dog", "Opa")], ("der Opa", [])),
        ("a dog, cat", "ein Hund, Tier", "0-0 1-1 3-3", [DOG, ("cat", "X")], ("ein Köter, X", [])),
        ("a dog.", "ein Hund.", "0-0 1-1 1-2", [DOG], ("ein Köter.", [])),
    ],
)
def test_terms_stand_for_the_words_that_are_linked_to_them(
    source: str, target: str, pairs: str, terms: list[tuple[str, str]], expected: tuple[str, str]
) -> None:
    assert placed(source, target, pairs, *terms) == expected


def test_a_required_beginning_stays() -> None:
    assert placed("dog dog", "Hund Hund", "0-0 1-1", DOG, begin=4)[0] == "Hund Köter"


WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", MARK, "Köter"]), min_size=1, max_size=8)


@given(WORDS, st.data())
def test_kept_strings_and_links_stay(words: list[str], data: st.DataObject) -> None:
    source, target = " ".join(f"w{n}" for n in range(len(words))), " ".join(words)
    order = data.draw(st.permutations(range(len(words))))
    pairs = " ".join(f"{a}-{b}" for a, b in enumerate(order))
    chosen = data.draw(st.sets(st.sampled_from(range(len(words)))))
    entries = [GlossaryEntry(f"w{n}", f"Ziel{n}") for n in chosen]
    matches = GlossaryMatcher(entries, "en").find(source)
    version = MarkedText(target, (), links_of(source, target.replace(MARK, "x"), pairs))
    found = place_terms(source, matches, version, "de")
    assert found.text.count(MARK) == target.count(MARK)
    for link in found.links:
        assert found.text[link.target_start : link.target_end].strip()
    lost = {entry.source for entry in lacks(matches, found.text, "de")}
    assert lost == {f"w{n}" for n in chosen if words[order[n]] == MARK}
    places = {order[n]: n for n in chosen}
    wanted = (f"Ziel{places[n]}" if n in places else word for n, word in enumerate(words))
    expected = [word if word == MARK else one for one, word in zip(wanted, words, strict=True)]
    assert found.text.split() == expected
