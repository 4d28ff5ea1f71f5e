"""Strings to keep are carried through the model, and lost carriers are noticed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink
from service.translation.markup.flow import MARK
from service.translation.text.amounts import Amount, find_amounts
from service.translation.text.carriers import carry, most_carriers

TEXTS = st.text(st.sampled_from(f"ab 你.7{MARK}"), max_size=30)


@given(TEXTS, st.sampled_from(["en", "zh"]), st.sampled_from([0, 4, 64]))
def test_the_text_itself_comes_back_as_it_was(text: str, language: str, reserved: int) -> None:
    carried = carry(text, language, reserved)
    if carried is None:
        assert not 0 < text.count(MARK) <= most_carriers(text, reserved)
        return
    assert MARK not in carried.text
    restored = carried.restore(carried.text, [], language, "zh")
    assert restored is not None
    assert restored.text.replace(" ", "") == text.replace(" ", "")
    assert list(restored.order) == list(range(text.count(MARK)))


def test_reserved_pieces_carry_where_the_model_has_them() -> None:
    carried = carry(f"Open {MARK} or {MARK}.", "en", 2)
    assert carried is not None
    assert carried.text == "Open ⟦0⟧ or ⟦1⟧."
    restored = carried.restore("Öffne ⟦1⟧ oder ⟦0⟧.", [], "en", "de")
    assert restored is not None
    assert restored.text == f"Öffne {MARK} oder {MARK}."
    assert list(restored.order) == [1, 0]


def test_more_strings_than_reserved_pieces_are_not_carried() -> None:
    assert carry(f"{MARK} a {MARK} b {MARK}", "en", 2) is None
    assert carry(f" {MARK}" * 7, "en", 0) is None
    assert carry("no mark", "en", 2) is None


def test_a_number_of_the_sentence_is_no_carrier() -> None:
    carried = carry(f"40713 or {MARK}", "en", 0)
    assert carried is not None
    assert carried.text.count("40713") == 1


@pytest.mark.parametrize(
    "target", ["Öffne.", "40713 40713", "407130", "Öffne 4071 3", "40.713", ""]
)
def test_a_lost_doubled_or_broken_carrier_is_noticed(target: str) -> None:
    carried = carry(f"Open {MARK}.", "en", 0)
    assert carried is not None
    assert carried.text == "Open 40713."
    assert carried.restore(target, [], "en", "de") is None


@pytest.mark.parametrize(
    ("source", "language", "carried", "target", "restored"),
    [
        ("版本￼发布", "zh", "版本 40713 发布", "Version40713 is out", "Version ￼ is out"),
        ("a￼b", "en", "a40713b", "x40713y", "x￼y"),
        ("(￼)", "zh", "(40713)", "(40713)", "(￼)"),
    ],
)
def test_spaces_are_put_where_the_languages_need_them(
    source: str, language: str, carried: str, target: str, restored: str
) -> None:
    text = carry(source, language, 0)
    assert text is not None
    assert text.text == carried
    found = text.restore(target, [], language, "en")
    assert found is not None
    assert found.text == restored


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


def test_a_mark_that_touches_a_word_is_parted_from_it_for_the_network() -> None:
    carried = carry(f"Read {MARK}our terms{MARK} of {MARK}s.", "en", 16)
    assert carried is not None
    assert carried.text == "Read ⟦0⟧ our terms ⟦1⟧ of ⟦2⟧s."
    restored = carried.restore("Lies ⟦0⟧ unsere Regeln ⟦1⟧ von ⟦2⟧ sich.", [], "en", "de")
    assert restored is not None
    assert restored.text == f"Lies {MARK}unsere Regeln{MARK} von {MARK} sich."


def test_links_are_of_the_text_with_marks() -> None:
    carried = carry(f"Open {MARK} now.", "en", 0)
    assert carried is not None
    links = [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 10, 6, 11, 0.5),
        AlignmentLink(11, 14, 12, 17, 0.8),
    ]
    restored = carried.restore("Öffne 40713 jetzt.", links, "en", "de")
    assert restored is not None
    assert sorted(restored.links) == [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 6, 6, 7, 1.0),
        AlignmentLink(7, 10, 8, 13, 0.8),
    ]


@pytest.mark.parametrize(
    ("source", "language", "target", "expected"),
    [
        (f"这本书{MARK}20。", "zh", "This book is ⟦0⟧ 20.", f"This book is {MARK}20."),
        (f"气温25{MARK}。", "zh", "It is 25 ⟦0⟧ now.", f"It is 25{MARK} now."),
        (f"It is {MARK}5", "en", "Es kostet ⟦0⟧ 5", f"Es kostet {MARK}5"),
        (f"It is {MARK}5", "en", "Es kostet ⟦0⟧5", f"Es kostet {MARK}5"),
        (f"It is {MARK} 5", "en", "Es kostet ⟦0⟧ 5", f"Es kostet {MARK} 5"),
        (f"It is {MARK}5", "en", "Es kostet ⟦0⟧ 7", f"Es kostet {MARK} 7"),
        (f"我有{MARK}本书", "zh", "I have⟦0⟧books", f"I have {MARK} books"),
    ],
)
def test_a_sign_stays_beside_its_digit(
    source: str, language: str, target: str, expected: str
) -> None:
    carried = carry(source, language, 16)
    assert carried is not None
    restored = carried.restore(target, [], language, "de")
    assert restored is not None
    assert restored.text == expected


def test_numbers_are_carried_beside_marks_and_come_back_as_the_target_writes_them() -> None:
    text = f"Give {MARK} 45 million of 7."
    carried = carry(text, "en", 16, [Amount(7, 17, "45 Millionen"), Amount(21, 22, "7")])
    assert carried is not None
    assert (carried.text, carried.marked) == ("Give ⟦0⟧ ⟦1⟧ of ⟦2⟧.", text)
    restored = carried.restore("Von ⟦2⟧ gib ⟦0⟧ ⟦1⟧.", [], "en", "de")
    assert restored is not None
    assert restored.text == f"Von 7 gib {MARK} 45 Millionen."
    assert list(restored.order) == [0]
    assert [(text[a:b], restored.text[c:d]) for a, b, c, d, _ in restored.links] == [
        ("7", "7"),
        (MARK, MARK),
        ("45 million", "45 Millionen"),
    ]


@given(TEXTS, st.sampled_from(["en", "zh"]))
def test_a_text_with_its_numbers_carried_comes_back_as_it_was(text: str, language: str) -> None:
    amounts = list(find_amounts(text, language, language))
    carried = carry(text, language, 64, amounts)
    if carried is None:
        assert not amounts
        assert MARK not in text
        return
    restored = carried.restore(carried.text, [], language, "zh")
    assert restored is not None
    assert restored.text.replace(" ", "") == text.replace(" ", "")


def test_a_translation_is_completed_with_what_it_lost() -> None:
    carried = carry(f"{MARK} or {MARK}.", "en", 16)
    assert carried is not None
    completed = carried.completed("⟦1⟧ oder ⟦1⟧.")
    assert completed == "⟦1⟧ oder . ⟦0⟧"
    assert carried.restore(completed, [], "en", "de") is not None


def test_an_amount_with_its_sign_is_one_slot() -> None:
    text = f"Es kostet 5 {MARK} oder {MARK}."
    carried = carry(text, "de", 16, [Amount(10, 13, f"5 {MARK}")])
    assert carried is not None
    assert carried.text == "Es kostet ⟦0⟧ oder ⟦1⟧."
    restored = carried.restore("It costs ⟦1⟧ or ⟦0⟧.", [], "de", "en")
    assert restored is not None
    assert restored.text == f"It costs {MARK} or 5 {MARK}."
    assert list(restored.order) == [1, 0]
