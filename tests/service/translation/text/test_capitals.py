"""Sentences in capitals are recognised and brought to sentence case."""

from __future__ import annotations

import pytest

from service.translation.text.capitals import in_sentence_case, is_in_capitals


@pytest.mark.parametrize(
    "text",
    [
        "DO NOT OPEN THE DOOR!",
        "DIE KATZE SITZT AUF DER MAUER.",
        "ÉTÉ À PARIS",
        "DIE STRAßE IST LANG",
    ],
)
def test_a_sentence_in_capitals_is_recognized(text: str) -> None:
    assert is_in_capitals(text)


@pytest.mark.parametrize(
    "text",
    [
        "NASA",
        "The NASA engineers",
        "你好世界",
        "1234 5678",
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
