"""Words of an alternative have the links of the words that they keep or replace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink, links_of_alternative


def spans(text: str) -> list[tuple[int, int]]:
    found, position = [], 0
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        found.append((start, position))
    return found


def moved(best: str, other: str) -> dict[str, set[str]]:
    """For each word of `other` the words of `best` whose links it has, each linked to itself."""
    links = [AlignmentLink(*span, *span, 0.5) for span in spans(best)]
    found: dict[str, set[str]] = {}
    for link in links_of_alternative(best, spans(best), links, other, spans(other)):
        target = other[link.target_start : link.target_end]
        found.setdefault(target, set()).add(best[link.source_start : link.source_end])
    return found


@pytest.mark.parametrize(
    ("best", "other", "expected"),
    [
        ("a b c", "a b c", {"a": {"a"}, "b": {"b"}, "c": {"c"}}),
        ("a b c", "a x c", {"a": {"a"}, "x": {"b"}, "c": {"c"}}),
        ("a b c", "a x y c", {"a": {"a"}, "x": {"b"}, "y": {"b"}, "c": {"c"}}),
        ("a b c d", "a x d", {"a": {"a"}, "x": {"b", "c"}, "d": {"d"}}),
        ("a b", "a b c", {"a": {"a"}, "b": {"b"}}),
        ("a b c", "c", {"c": {"c"}}),
        ("", "a", {}),
        ("a", "", {}),
    ],
)
def test_words_keep_their_links_or_take_those_of_the_words_they_replace(
    best: str, other: str, expected: dict[str, set[str]]
) -> None:
    assert moved(best, other) == expected


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_every_link_is_of_a_word_of_the_alternative(best: list[str], other: list[str]) -> None:
    text, other_text = " ".join(best), " ".join(other)
    links = [AlignmentLink(*span, *span, 0.5) for span in spans(text)]
    found = links_of_alternative(text, spans(text), links, other_text, spans(other_text))
    assert {(link.target_start, link.target_end) for link in found} <= set(spans(other_text))
