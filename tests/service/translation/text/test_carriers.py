"""Strings to keep are carried through the model, and lost carriers are noticed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink
from service.translation.markup.flow import MARK
from service.translation.text.amounts import Amount, find_amounts
from service.translation.text.carriers import MarkedText, carry, most_carriers

TEXTS = st.text(st.sampled_from(f"ab 你.7{MARK}"), max_size=30)


@given(TEXTS, st.sampled_from(["en", "zh"]), st.sampled_from([0, 4, 64]), st.booleans())
def test_the_text_itself_comes_back_as_it_was(
    text: str, language: str, reserved: int, has_amounts: bool
) -> None:
    amounts = list(find_amounts(text, language, language)) if has_amounts else []
    num_carried = text.count(MARK) + len(amounts)
    carried = carry(text, language, reserved, amounts)
    if carried is None:
        assert not 0 < num_carried <= most_carriers(text, reserved)
        return
    assert MARK not in carried.text
    restored = carried.restore(carried.text, [], language, "zh")
    assert restored is not None
    assert restored.text.replace(" ", "") == text.replace(" ", "")
    assert list(restored.order) == list(range(text.count(MARK)))


def carried_and_restored(
    source: str,
    target: str,
    languages: tuple[str, str] = ("en", "de"),
    reserved: int = 16,
    amounts: Sequence[Amount] = (),
    links: Sequence[AlignmentLink] = (),
) -> tuple[str, MarkedText | None]:
    """What the network reads, and its translation with what was carried."""
    carried = carry(source, languages[0], reserved, list(amounts))
    assert carried is not None
    return carried.text, carried.restore(target, list(links), *languages)


def test_more_strings_than_reserved_pieces_are_not_carried() -> None:
    assert carry(f"{MARK} a {MARK} b {MARK}", "en", 2) is None
    assert carry(f" {MARK}" * 7, "en", 0) is None
    assert carry("no mark", "en", 2) is None


def test_a_number_of_the_sentence_is_no_carrier() -> None:
    text, _ = carried_and_restored(f"40713 or {MARK}", "", reserved=0)
    assert text.count("40713") == 1


@pytest.mark.parametrize("target", ["Öffne.", "40713 40713", "407130", "Öffne 4071 3", ""])
def test_a_lost_doubled_or_broken_carrier_is_noticed(target: str) -> None:
    assert carried_and_restored(f"Open {MARK}.", target, reserved=0) == ("Open 40713.", None)


@pytest.mark.parametrize(
    ("source", "languages", "reserved", "carried", "target", "expected"),
    [
        ("￼ or ￼.", "en-de", 2, "⟦0⟧ or ⟦1⟧.", "⟦1⟧ oder ⟦0⟧.", "￼ oder ￼."),
        ("版本￼发布", "zh-en", 0, "版本 40713 发布", "Version40713 is out", "Version ￼ is out"),
        ("a￼b", "en-en", 0, "a40713b", "x40713y", "x￼y"),
        ("(￼)", "zh-en", 0, "(40713)", "(40713)", "(￼)"),
        ("a ￼bc￼ of ￼s.", "en-de", 3, "a ⟦0⟧ bc ⟦1⟧ of ⟦2⟧s.", "⟦0⟧ y ⟦1⟧ z ⟦2⟧ s.", "￼y￼ z ￼ s."),
        ("这本书￼20。", "zh-de", 1, "这本书⟦0⟧20。", "It is ⟦0⟧ 20.", "It is ￼20."),
        ("气温25￼。", "zh-de", 1, "气温25⟦0⟧。", "It is 25 ⟦0⟧ now.", "It is 25￼ now."),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧ 5", "Es kostet ￼5"),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧5", "Es kostet ￼5"),
        ("It is ￼ 5", "en-de", 1, "It is ⟦0⟧ 5", "Es kostet ⟦0⟧ 5", "Es kostet ￼ 5"),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧ 7", "Es kostet ￼ 7"),
        ("我有￼本书", "zh-de", 1, "我有⟦0⟧本书", "I have⟦0⟧books", "I have ￼ books"),
    ],
)
def test_spaces_are_put_where_the_languages_need_them_and_signs_stay_beside_their_digits(
    source: str, languages: str, reserved: int, carried: str, target: str, expected: str
) -> None:
    pair = languages[:2], languages[3:]
    text, restored = carried_and_restored(source, target, pair, reserved)
    assert text == carried
    assert restored is not None
    assert restored.text == expected


@given(TEXTS, st.sampled_from(["de", "zh"]))
def test_a_kept_string_touches_no_letter_or_other_string_that_it_did_not(
    text: str, target: str
) -> None:
    """The network may leave out every space."""
    carried = carry(text, "en", 64)
    if carried is None:
        assert MARK not in text
        return
    restored = carried.restore(carried.text.replace(" ", ""), [], "en", target)
    assert restored is not None
    for pair in map("".join, itertools.pairwise(restored.text)):
        assert pair in text or MARK not in pair or " " in pair or "." in pair


def test_links_are_of_the_text_with_marks() -> None:
    links = [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 10, 6, 11, 0.5),
        AlignmentLink(11, 14, 12, 17, 0.8),
    ]
    _, restored = carried_and_restored(
        f"Open {MARK} now.", "Öffne 40713 jetzt.", reserved=0, links=links
    )
    assert restored is not None
    assert sorted(restored.links) == [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 6, 6, 7, 1.0),
        AlignmentLink(7, 10, 8, 13, 0.8),
    ]


def test_numbers_are_carried_beside_marks_and_come_back_as_the_target_writes_them() -> None:
    source = f"Give {MARK} 45 million of {MARK} 7."
    amounts = [Amount(7, 17, "45 Millionen"), Amount(21, 24, f"{MARK} 7")]
    carried, restored = carried_and_restored(source, "Von ⟦2⟧ gib ⟦0⟧ ⟦1⟧.", amounts=amounts)
    assert carried == "Give ⟦0⟧ ⟦1⟧ of ⟦2⟧."
    assert restored is not None
    assert restored.text == f"Von {MARK} 7 gib {MARK} 45 Millionen."
    assert list(restored.order) == [1, 0]
    assert [(source[a:b], restored.text[c:d]) for a, b, c, d, _ in restored.links] == [
        (f"{MARK} 7", f"{MARK} 7"),
        (MARK, MARK),
        ("45 million", "45 Millionen"),
    ]


def test_a_translation_is_completed_with_what_it_lost() -> None:
    carried = carry(f"{MARK} or {MARK}.", "en", 16)
    assert carried is not None
    completed = carried.completed("⟦1⟧ oder ⟦1⟧.")
    assert completed == "⟦1⟧ oder . ⟦0⟧"
    assert carried.restore(completed, [], "en", "de") is not None
