"""Where the terms of a glossary stand in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidField
from service.translation.glossary import (
    GlossaryEntry,
    GlossaryMatcher,
    check_entries,
)


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


@pytest.mark.parametrize("entry", [("", "a"), ("a", " "), ("a", "b" * 201), ("\n", "a")])
def test_empty_and_endless_terms_are_refused(entry: tuple[str, str]) -> None:
    with pytest.raises(InvalidField, match="of term 1 must have 1 to 200"):
        check_entries([GlossaryEntry(*entry)], 10)
