"""What benchmarks/named.py asks, and what it counts as right."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.named import Case, cases, is_right

KINDS = {"numbers in digits", "numbers in words", "countries", "languages", "cities"}


@pytest.mark.parametrize(
    ("right", "translation", "expected"),
    [
        (("43", "forty-three"), "I am 43 years old.", True),
        (("43", "forty-three"), "Forty-three people", True),
        (("43", "forty-three"), "I am 430 years old.", False),
        (("43", "forty-three"), "I am 34 years old.", False),
        (("九月", "9月"), "我的生日在9月。", True),
        (("九月", "9月"), "我的生日在19月。", False),
        (("Poland", ""), "I come from Polen.", False),
    ],
)
def test_a_name_must_be_there_whole(
    right: tuple[str, ...], translation: str, expected: bool
) -> None:
    assert is_right(Case("a kind", "a source", right), translation) is expected


@pytest.mark.parametrize("direction", [("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en")])
def test_every_kind_is_asked_in_sentences_of_the_source(direction: tuple[str, str]) -> None:
    asked = list(cases(*direction))
    counts = Counter(case.kind for case in asked)
    expected = KINDS | {"weekdays", "months"}
    assert set(counts) == (expected | {"Chinese names"} if direction == ("zh", "en") else expected)
    assert len({case.source for case in asked}) > 350
    assert asked == list(cases(*direction))
    assert any("ä" in case.source for case in asked) == (direction[0] == "de")
    months = [case.right for case in asked if case.kind == "months"]
    assert (("十二月", "12月") in months) == (direction == ("en", "zh"))
