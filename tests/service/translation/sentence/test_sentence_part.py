"""Parts of a sentence that is too long read as one sentence."""

from __future__ import annotations

import pytest

from model.decoding.sentence_limits import SentenceLimits
from service.translation.alignment import AlignmentLink
from service.translation.sentence.sentence_part import SentencePart
from service.translation.sentence.stages import Draft, leave
from tests.service.translation.sentence.test_stages import prepared


@pytest.mark.parametrize(
    ("part", "target", "translation", "read"),
    [
        ("它们很大，", "en", "They are big.", "they are big,"),
        ("它们很大", "en", "They are big.", "they are big"),
        ("汤姆来了；", "en", "Tom came.", "Tom came;"),
        ("和五月，", "en", "May and I,", "May and I,"),
        ("美国，", "en", "the U.S.", "the U.S."),
        ("very big!", "de", "Sehr groß.", "Sehr groß."),
        ("and it is big,", "de", "Und es ist 5.", "und es ist 5,"),
        ("The house,", "en", "The house,", "The house,"),
        ("which is big,", "de", ", die groß ist,", "die groß ist,"),
        ("which is big,", "zh", "，很大。", "很大，"),
        ("which is big,", "zh", "很大。", "很大，"),
        ("from 8:00-12:00,", "zh", "8:00-12:00", "8:00-12:00，"),
        ("比分为25-20、", "en", "25-20", "25-20,"),
        ("which is big", "zh", "（很大）。", "（很大），"),
    ],
)
def test_a_part_has_no_capital_and_no_full_stop_of_its_own(
    part: str, target: str, translation: str, read: str
) -> None:
    inner = SentencePart(part, begins=False, ends=False, target=target)
    assert inner.leave(Draft(translation)).text == read
    whole = SentencePart(part, begins=True, ends=True, target=target)
    assert whole.leave(Draft(translation)).text == translation


@pytest.mark.parametrize("translation", ["They are etc.", "，很大。", "and, so"])
def test_no_link_of_a_part_is_to_nothing(translation: str) -> None:
    part = SentencePart("它们很大", begins=False, ends=False, target="en")
    links = [AlignmentLink(0, 1, at, at + 1, 1.0) for at in range(len(translation))]
    draft = part.leave(Draft(translation, links))
    assert all(0 <= start < end <= len(draft.text) for _, _, start, end, _ in draft.links)


def test_a_part_in_capitals_keeps_them() -> None:
    _, entries = prepared(
        "DER ALTE HUND BELLT, " * 9, limits=SentenceLimits(16, 60, 8), pair=("de", "en")
    )
    assert len(entries) > 2
    for entry in entries:
        draft = leave(entry.stages, Draft("a house,"))
        assert draft is not None
        assert draft.text == "A HOUSE,"


@pytest.mark.parametrize(
    "text", ["the old dog, " * 12 + "it barks.", "a, b • c {0} " * 12 + "dogs."]
)
def test_only_the_first_part_begins_a_sentence_and_only_the_last_ends_it(text: str) -> None:
    parsed, _ = prepared(f"He says. {text} It says.", limits=SentenceLimits(16, 60, 8))
    first, begin, *within, end, last = parsed.sentences
    assert within
    assert [(one.begins, one.ends) for one in (first, begin, end, last)] == [
        (True, True),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert not any(one.begins or one.ends for one in within)


@pytest.mark.parametrize(
    ("text", "pair", "gaps"),
    [
        ("25-20、23-25，25-18。", ("zh", "en"), ["25-20, 23-25, 25-18."]),
        ("%s、%s：{a}；1：2", ("zh", "de"), ["%s, %s: {a}; 1:2"]),
        ("the dog 12345 54321 the dog", ("en", "zh"), ["", " 12345 ", ""]),
        ("the dog 12345 54321", ("en", "zh"), ["", " 12345 54321"]),
        ("。。。", ("zh", "en"), ["。。。"]),
        ("%s, %s", ("en", "zh"), ["%s, %s"]),
    ],
)
def test_numbers_without_words_between_stay_apart(
    text: str, pair: tuple[str, str], gaps: list[str]
) -> None:
    parsed, _ = prepared(text, limits=SentenceLimits(12, 60, 8), pair=pair)
    assert parsed.gaps == gaps


@pytest.mark.parametrize("head", ["(b) ", "a) ", "", "- "])
@pytest.mark.parametrize("end", [";", ",", ""])
def test_a_clause_of_a_list_has_no_comma_before_it_and_no_stop_of_its_own(
    head: str, end: str
) -> None:
    _, (entry,) = prepared(f"{head}if it rains{end}", pair=("en", "de"))
    for written in (", wenn es regnet", "Wenn es regnet.", "wenn es regnet"):
        draft = leave(entry.stages, Draft(written + (end if written[-1] != "." else "")))
        assert draft is not None
        assert draft.text.removesuffix("." if not end else "") == f"wenn es regnet{end}"
    _, (entry,) = prepared(f"{head}If it rains{end}", pair=("en", "de"))
    assert leave(entry.stages, Draft(", wenn")) == Draft(", wenn")
