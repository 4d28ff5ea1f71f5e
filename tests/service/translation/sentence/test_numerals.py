"""Chinese numbers in words are found by value, and written as the other language writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.checks.number_words import chinese_value
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.sentence.amounts import find_amounts
from service.translation.sentence.numerals import find_numerals

DIGITS, UNITS = "零一二三四五六七八九", ("", "十", "百", "千")


def section(number: int) -> str:
    """A number below 10,000 in words."""
    digits = f"{number:04}"
    pairs = zip(digits, reversed(UNITS), strict=True)
    words = "".join(DIGITS[int(one)] + unit * (one != "0") for one, unit in pairs).strip("零")
    while "零零" in words:
        words = words.replace("零零", "零")
    return words


def in_words(number: int) -> str:
    """A number below 100,000,000 in words."""
    large, small = divmod(number, 10_000)
    gap = "零" if large and 0 < small < 1000 else ""
    return f"{section(large)}万{gap}{section(small)}" if large else section(small)


@given(st.integers(10, 99_999_999))
def test_a_number_in_words_is_found_by_value(number: int) -> None:
    words = in_words(number)
    assert chinese_value(words) == number
    assert [one.values for one in find_numerals(f"他有{words}本")] == [(number,)]
    (amount,) = find_amounts(f"他有{words}本", "zh", "en")
    assert unmatched(find_numbers(f"有{words}本"), find_numbers(amount.new)) == ([], [])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("花了一万二，一百五十多", ["12,000", "150"]),
        ("百分之五到百分之九十九点九", ["5%", "99.9%"]),
        ("三四十人，五六百万", ["30–40", "5 million–6 million"]),
        ("一九四九年，十九世纪，八点一刻", ["1949", "19", "8:15"]),
        ("30-50万，1.5-2亿", ["300,000–500,000", "150 million–200 million"]),
        ("千万别，三分之二，十一月，第三百条，三五个", []),
        ("双十一，十六进制，七十年代，一点半点", []),
        ("中华民国一百零七年度，民国99年一月二日", ["2018", "January 2, 2010"]),
        ("自一百十二年三月三日", ["March 3, 2023"]),
        ("3万亿", ["3 trillion"]),
    ],
)
def test_numbers_in_words_are_carried_in_digits(text: str, written: list[str]) -> None:
    assert [amount.new for amount in find_amounts(text, "zh", "en")] == written
