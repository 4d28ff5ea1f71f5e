"""Sentences in capitals are recognised and brought to sentence case."""

from __future__ import annotations

import pytest

from service.translation.text.capitals import is_in_capitals


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
