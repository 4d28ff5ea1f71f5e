"""Words that the translation does not attend to are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink
from service.translation.checks.omissions import omitted

TEXT = "The judge will speak on Monday."


def links(source: str, *words: str) -> list[AlignmentLink]:
    """A link of each of these words."""
    starts = [source.index(word) for word in words]
    return [AlignmentLink(s, s + len(w), 0, 1, 0.5) for s, w in zip(starts, words, strict=True)]


@pytest.mark.parametrize(
    ("source", "language", "linked", "expected"),
    [
        (TEXT, "en", ["judge", "speak"], ["Monday"]),
        (TEXT, "en", ["judge", "speak", "Monday"], []),
        (TEXT, "en", [], []),
        (TEXT, "fr", ["judge"], []),
        ("Das sind die Tage, die ich habe.", "de", ["Das"], ["Tage"]),
        ("法官将于星期一发言。", "zh", ["法官", "发言"], ["将于星期一"]),
        ("法官将发言。", "zh", ["法官", "发言"], []),
    ],
)
def test_words_of_meaning_without_a_link_are_omitted(
    source: str, language: str, linked: list[str], expected: list[str]
) -> None:
    assert omitted(source, links(source, *linked), language) == expected


@given(st.text(), st.sampled_from(["en", "de", "zh"]))
def test_what_is_linked_is_not_omitted(source: str, language: str) -> None:
    everything = [AlignmentLink(0, len(source), 0, 1, 0.5)]
    assert omitted(source, everything, language) == []
