"""The terms of a glossary are found in a sentence, and stand in the translation where the words are
that they are linked to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidField
from service.translation.glossary import GlossaryEntry, GlossaryMatcher, check_entries, stem
from service.translation.markup.flow import MARK
from service.translation.sentence.stages import Draft
from service.translation.sentence.terms import lacks, place_terms
from tests.service.translation.markup.test_placement import links_of


def found(text: str, language: str, *sources: str, **flags: bool) -> list[str]:
    entries = [GlossaryEntry(source, "x", **flags) for source in sources]
    return [
        text[match.start : match.end] for match in GlossaryMatcher(entries, language).find(text)
    ]


@pytest.mark.parametrize(
    ("language", "text", "source", "expected"),
    [
        ("en", "The committees met.", "committee", ["committees"]),
        ("en", "The committee's vote.", "committee", ["committee"]),
        ("en", "Two boxes, three parties.", "party", ["parties"]),
        ("en", "Two boxes, three parties.", "box", ["boxes"]),
        ("en", "An organization.", "organ", []),
        ("en", "The housing.", "house", []),
        ("en", "status and stats", "stat", ["stats"]),
        ("de", "In den Häusern des Hauses.", "Haus", ["Häusern", "Hauses"]),
        ("de", "Er ist schon schön.", "schon", ["schon"]),
        ("de", "Die Verträge.", "Vertrag", ["Verträge"]),
        ("de", "Schöne Grüße", "Scho\u0308ne", ["Schöne"]),
        ("zh", "委员会的图书馆在图书馆。", "图书馆", ["图书馆", "图书馆"]),
        ("en", "New  York is new.", "new york", ["New  York"]),
        ("en", "a.b", "a.b", ["a.b"]),
        ("en", "The gas of a bus.", "bu", []),
    ],
)
def test_terms_are_found_by_word(
    language: str, text: str, source: str, expected: list[str]
) -> None:
    assert found(text, language, source) == expected


def test_the_longest_term_wins_and_none_overlap() -> None:
    text = "the new york stock exchange of new york"
    assert found(text, "en", "york", "new york", "new york stock exchange", "stock") == [
        "new york stock exchange",
        "new york",
    ]


def test_case_counts_if_it_is_to() -> None:
    assert found("The US helps us.", "en", "US", case_sensitive=True) == ["US"]
    assert found("The US helps us.", "en", "US") == ["US", "us"]


def test_of_equal_terms_the_last_counts() -> None:
    entries = [GlossaryEntry("dog", "Hund"), GlossaryEntry("dog", "Köter")]
    (match,) = GlossaryMatcher(entries, "en").find("A dog.")
    assert match.entry.target == "Köter"


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), max_size=5))
def test_matches_lie_in_the_text_in_order(text: str, sources: list[str]) -> None:
    matches = GlossaryMatcher([GlossaryEntry(s, "x") for s in sources], "en").find(text)
    position = 0
    for match in matches:
        assert position <= match.start < match.end <= len(text)
        position = match.end


WORDS_OF_TERMS = st.lists(
    st.sampled_from(["a", "A", "as", "As", "b", "B", "."]), min_size=1, max_size=4
).map(" ".join)
ENTRIES = st.builds(GlossaryEntry, WORDS_OF_TERMS, st.sampled_from(["x", "y"]), st.booleans())


def matches_at(
    words: list[str], place: int, entries: list[GlossaryEntry], *, ignores_case: bool
) -> list[tuple[int, int]]:
    """The lengths and numbers of the entries that begin at this word."""
    found = []
    distinct = {(entry.source, entry.case_sensitive): entry for entry in entries}
    for number, entry in enumerate(distinct.values()):
        term = entry.source.split()
        part = words[place : place + len(term)]
        is_exact = entry.case_sensitive and not ignores_case
        if (
            part == term
            if is_exact
            else [stem(w, "en") for w in part] == [stem(w, "en") for w in term]
        ):
            found.append((len(term), number))
    return found


@given(
    st.lists(st.sampled_from(["a", "A", "as", "As", "b", "B", "."]), max_size=12),
    st.lists(ENTRIES, max_size=8),
    st.booleans(),
)
def test_terms_are_the_longest_and_last_at_each_place(
    words: list[str], entries: list[GlossaryEntry], ignores_case: bool
) -> None:
    distinct = list({(entry.source, entry.case_sensitive): entry for entry in entries}.values())
    expected, place = [], 0
    while place < len(words):
        length, number = max(
            matches_at(words, place, entries, ignores_case=ignores_case), default=(1, -1)
        )
        if number >= 0:
            expected.append((" ".join(words[place : place + length]), distinct[number]))
        place += length
    text = " ".join(words)
    matches = GlossaryMatcher(entries, "en").find(text, ignores_case=ignores_case)
    assert [(text[match.start : match.end], match.entry) for match in matches] == expected


@given(
    st.lists(st.sampled_from(["a", "A", "as", "b", "."]), max_size=12).map(" ".join),
    st.lists(ENTRIES, max_size=8),
)
def test_each_term_is_found_as_if_it_were_the_only_one(
    text: str, entries: list[GlossaryEntry]
) -> None:
    each = GlossaryMatcher(entries, "en").find_each(text)
    alone = {
        entry: [(match.start, match.end) for match in GlossaryMatcher([entry], "en").find(text)]
        for entry in {(entry.source, entry.case_sensitive): entry for entry in entries}.values()
    }
    assert each == {entry: spans for entry, spans in alone.items() if spans}


@pytest.mark.parametrize(
    "entry", [("", "a"), ("a", " "), ("a", "b" * 201), ("\n", "a"), ("a", MARK)]
)
def test_empty_and_endless_terms_are_refused(entry: tuple[str, str]) -> None:
    with pytest.raises(InvalidField, match="of term 1 must have 1 to 200"):
        check_entries([GlossaryEntry(*entry)], 10)


def placed(
    source: str, target: str, pairs: str, *terms: tuple[str, str], begin: int = 0
) -> tuple[str, list[str]]:
    """The translation with the terms, and the sources of those that it lacks."""
    matches = GlossaryMatcher([GlossaryEntry(*term) for term in terms], "en").find(source)
    draft = Draft(target, links_of(source, target, pairs))
    text = place_terms(source, matches, draft, "de", begin).text
    return text, [entry.source for entry in lacks(matches, text, "de")]


DOG = ("dog", "Köter")


@pytest.mark.parametrize(
    ("source", "target", "pairs", "terms", "expected"),
    [
        ("a dog", "ein Hund", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("dog here", "Hund hier", "0-0 1-1", [("dog", "der Köter")], ("Der Köter hier", [])),
        ("a dog", "ein köter", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("a dog", "ein Köterhund", "0-0 1-1", [DOG], ("ein Köter", [])),
        ("two dogs", "zwei Verträge", "0-0 1-1", [("dog", "Vertrag")], ("zwei Verträge", [])),
        ("a dog", "ein Hund", "0-0", [DOG], ("ein Hund", ["dog"])),
        ("dog and dog", "Hund und Köter", "0-0 1-1 2-2", [DOG], ("Köter und Köter", [])),
        ("the old dog", "der alte Hund", "0-0 1-1 2-2", [("old dog", "Opa")], ("der Opa", [])),
        ("a dog, cat", "ein Hund, Tier", "0-0 1-1 3-3", [DOG, ("cat", "X")], ("ein Köter, X", [])),
        ("a dog.", "ein Hund.", "0-0 1-1 1-2", [DOG], ("ein Köter.", [])),
        ("C++ now.", "C++ jetzt.", "0-0 3-3", [("C++", "Zebra")], ("Zebra jetzt.", [])),
        ("@bob is", "@bob ist", "1-1 2-2", [("@bob", "Hund")], ("Hund ist", [])),
        ("10 % of it", "10 % davon", "0-0 2-2", [("10 %", "Hund")], ("Hund davon", [])),
        ("Dr. X", "Dr. X", "0-0 2-2", [("Dr.", "Doktor")], ("Doktor X", [])),
        ("a Dr.", "ein Dr.", "0-0 1-1", [("Dr.", "Doktor")], ("ein Doktor.", [])),
        ("C+ +D", "C+D", "0-0 3-2", [("C+", "E"), ("+D", "F")], ("EF", ["C+", "+D"])),
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
    draft = Draft(target, links_of(source, target.replace(MARK, "x"), pairs))
    found = place_terms(source, matches, draft, "de")
    assert found.text.count(MARK) == target.count(MARK)
    for link in found.links:
        assert found.text[link.target_start : link.target_end].strip()
    lost = {entry.source for entry in lacks(matches, found.text, "de")}
    assert lost == {f"w{n}" for n in chosen if words[order[n]] == MARK}
    places = {order[n]: n for n in chosen}
    wanted = (f"Ziel{places[n]}" if n in places else word for n, word in enumerate(words))
    expected = [word if word == MARK else one for one, word in zip(wanted, words, strict=True)]
    assert found.text.split() == expected
