"""Sentences in capitals are recognised and brought to sentence case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.text.capitals import (
    in_sentence_case,
    in_small_letters,
    is_in_capitals,
    is_title,
    like,
)

IN_CAPITALS = [
    *("DO NOT OPEN THE DOOR!", "STOP NOW", "I CAN'T HEAR YOU", "ÉTÉ À PARIS"),
    *("WARNING: 40713 ITEMS", "DIE STRAßE IST LANG"),
]
ACRONYMS_AND_ORDINARY_TEXTS = [
    *("NASA", "IBM AG", "USA, UK, EU", "The NASA engineers", "Hello World", "STOP", "A B C"),
    *("我用 IBM 的 API 编程", "1234 5678", "", "привет МИР"),
]
TITLES = ["Bread", "WARNING!", "How It Works", "Öl...", "Name:"]
NO_TITLES = [
    *("bread", "Save changes", "One Two Three Four Five Six To", "1. Bread", "Cheers!"),
    *("VPN与网站", ""),
]


@pytest.mark.parametrize("text", [*IN_CAPITALS, *ACRONYMS_AND_ORDINARY_TEXTS])
def test_a_sentence_in_capitals_is_told_from_acronyms_and_ordinary_text(text: str) -> None:
    assert is_in_capitals(text) == (text in IN_CAPITALS)


@pytest.mark.parametrize("text", [*TITLES, *NO_TITLES])
def test_few_words_with_capitals_are_a_title(text: str) -> None:
    assert is_title(text) == (text in TITLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DO NOT ENTER!", "Do not enter!"),
        ("CAN I GO?", "Can I go?"),
        ("“I AM”, HE SAID", "“I am”, he said"),
        ("ÄPFEL UND BIRNEN", "Äpfel und birnen"),
    ],
)
def test_sentence_case_keeps_the_first_letter_and_the_word_i(text: str, expected: str) -> None:
    assert in_sentence_case(text) == expected


@given(st.text(), st.text())
def test_a_title_gets_the_capitals_of_its_source(text: str, other: str) -> None:
    found = like(text, other)
    assert len(found) == len(in_small_letters(text)) == len(in_sentence_case(text)) == len(text)
    assert found.casefold() == text.casefold()
    assert like("brot", "Bread") == "Brot"
    assert like("warnung", "WARNING") == "WARNUNG"
