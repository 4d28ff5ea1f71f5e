"""Checks name what differs between a text and its translation, what it omits, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink
from service.translation.checks.differences import Check, check_sentence, check_terms
from service.translation.checks.omissions import omitted
from service.translation.glossary import GlossaryEntry


def check(
    source: str, target: str, source_language: str = "en", target_language: str = "de"
) -> list[tuple[str, list[str], list[str]]]:
    found = check_sentence(source, target, (source_language, target_language))
    return [(c.kind, list(c.source), list(c.target)) for c in found]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The 3 men paid 1,000 dollars.", "Die drei Männer zahlten 1.000 Dollar."),
        ("See https://a.b/c?d=1 and x@y.de.", "Siehe https://a.b/c?d=1 und x@y.de."),
        ("Press {name} or %s, {a}{b}", "{name} oder %s drücken, {a} {b}"),
        ("Version 1.2.3 of 2024-01-05", "Version 1.2.3 vom 2024-01-05"),
        ("Nellie Kershaw and Tom Ford in London", "Nellie Kershaw und Tom Ford in London"),
        ("OK.", "OK."),
        ("It was a long day. " * 12, "Der Tag war lang. " * 12),
        ("", ""),
    ],
)
def test_a_right_translation_has_no_checks(source: str, target: str) -> None:
    assert check(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("In 2013.", "In 2014.", ("number", ["2013"], ["2014"])),
        ("See https://a.b/c.", "Siehe da.", ("url", ["https://a.b/c"], [])),
        ("Write now.", "Schreib an x@y.de.", ("url", [], ["x@y.de"])),
        ("Press {a} {a}.", "{a} drücken.", ("placeholder", ["{a}"], [])),
        ("Press it.", "%s drücken.", ("placeholder", [], ["%s"])),
        ("I know you all too well.", "I know you all too well.", ("language", [], [])),
        ("I know you.", "Ich 知道 dich.", ("language", [], ["知", "道"])),
        ("No", "Nein, " * 30, ("length", [], [])),
        ("It was a long day. " * 12, "Ja.", ("length", [], [])),
    ],
)
def test_what_differs_is_told(
    source: str, target: str, expected: tuple[str, list[str], list[str]]
) -> None:
    assert check(source, target) == [expected]


def test_chinese_is_told_by_its_characters() -> None:
    assert check("How are you today?", "你今天好吗？", "en", "zh") == []
    assert [kind for kind, *_ in check("How are you today?", "Hao are", "en", "zh")] == ["language"]
    assert check("你好", "Hello", "zh", "en") == []


def test_a_translation_that_was_cut_off_is_told() -> None:
    (found,) = check_sentence("Hello.", "Hallo.", ("en", "de"), is_complete=False)
    assert (found.kind, found.message) == ("length", "the translation was cut off before its end")


def test_tags_are_compared_by_name() -> None:
    tags = "<b><img alt='a'></b>"
    (found,) = check_sentence("a b", "a b", ("en", "de"), (tags, "<b><i>x</b>"))
    assert found == Check("tag", ["<img"], ["<i"], "the translation lacks <img and adds <i")
    assert check_sentence("a b", "a b", ("en", "de"), (tags, "<b>x<img alt='c'></b>")) == []


def test_terms_that_are_lost_are_told() -> None:
    assert check_terms([]) is None
    assert check_terms([GlossaryEntry("house", "Bau")] * 2) == Check(
        "term", ["house", "house"], [], "the translation lacks the term house = Bau"
    )


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_checked(source: str, target: str) -> None:
    for found in check_sentence(source, target, ("en", "zh")):
        assert found.message.startswith("the translation ")
        assert len(found.source) <= 20
        assert len(found.target) <= 20


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
