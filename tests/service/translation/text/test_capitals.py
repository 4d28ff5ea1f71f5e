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


@pytest.mark.parametrize(
    "text",
    [
        "DO NOT OPEN THE DOOR!",
        "STOP NOW",
        "DIE KATZE SITZT AUF DER MAUER.",
        "I CAN'T HEAR YOU",
        "ÉTÉ À PARIS",
        "WARNING: 40713 ITEMS",
        "DIE STRAßE IST LANG",
    ],
)
def test_a_sentence_in_capitals_is_recognized(text: str) -> None:
    assert is_in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        "NASA",
        "IBM AG",
        "USA, UK, EU",
        "The NASA engineers",
        "Hello World",
        "STOP",
        "你好世界",
        "我用 IBM 的 API 编程",
        "A B C",
        "1234 5678",
        "",
        "привет МИР",
    ],
)
def test_acronyms_and_ordinary_text_are_not(text: str) -> None:
    assert not is_in_capitals(text)


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


@given(st.text(max_size=40))
def test_sentence_case_keeps_the_length(text: str) -> None:
    assert len(in_sentence_case(text)) == len(text)


@pytest.mark.parametrize("text", ["Bread", "WARNING!", "How It Works", "Öl...", "Name:"])
def test_few_words_with_capitals_are_a_title(text: str) -> None:
    assert is_title(text)


@pytest.mark.parametrize(
    "text",
    [
        "bread",
        "Save changes",
        "One Two Three Four Five Six To",
        "1. Bread",
        "Cheers!",
        "VPN与网站",
        "",
    ],
)
def test_other_texts_are_no_title(text: str) -> None:
    assert not is_title(text)


@given(st.text(), st.text())
def test_a_title_gets_the_capitals_of_its_source(text: str, other: str) -> None:
    found = like(text, other)
    assert len(found) == len(in_small_letters(text)) == len(text)
    assert found.casefold() == text.casefold()
    assert like("brot", "Bread") == "Brot"
    assert like("warnung", "WARNING") == "WARNUNG"
