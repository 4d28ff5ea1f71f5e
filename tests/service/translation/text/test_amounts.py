"""Numbers are found, and written as the target language writes them."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.text.amounts import find_amounts

LANGUAGES = ("en", "de", "fr", "zh", "ja")
TEXTS = st.text(
    st.sampled_from("0123456789.,:/-  \u202f万亿千月年ab%$Millionbillionx５٣") | st.characters(),
    max_size=40,
)


def spelled(text: str, source: str, target: str) -> list[tuple[str, str]]:
    return [(text[a.start : a.end], a.target) for a in find_amounts(text, source, target)]


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("en", "de", "7 of 1,234.5, 1,000,000 or 2.5", ["7", "1.234,5", "1.000.000", "2,5"]),
        ("de", "en", "4,3 und 1.234,56 von 12.000", ["4.3", "1,234.56", "12,000"]),
        ("en", "de", "45 million, 2.5 billion", ["45 Millionen", "2,5 Milliarden"]),
        ("en", "de", "1 million", ["1 Million"]),
        ("de", "en", "10 Milliarden, 1 Mio. Euro", ["10 billion", "1 million"]),
        ("en", "zh", "45 million, 1.2 billion, 3 thousand", ["4500万", "12亿", "3000"]),
        ("zh", "en", "2000万盆，1.2亿，3千人，5百", ["20 million", "120 million", "3000", "500"]),
        ("zh", "en", "12345万", ["123.45 million"]),
        ("zh", "en", "123456万", ["1,234,560,000"]),
        ("fr", "en", "3 milliards, 1,5 million", ["3 billion", "1.5 million"]),
        ("fr", "en", "12\u202f000", ["12,000"]),
        ("en", "fr", "12,000", ["12\u202f000"]),
        ("de", "en", "am 24.12.2024 um 9:30 Uhr", ["24.12.2024", "9:30"]),
        ("en", "zh", "21:25, 3-4, 007, 1/2", ["21:25", "3-4", "007", "1/2"]),
        ("zh", "en", "2015年9月3日，9个月", ["2015", "3", "9"]),
        ("en", "de", "A2, S-500x, 25th, 5km, x_3, 3D", []),
        ("en", "ja", "5 of 1,000", ["5"]),
        ("en", "zh", "5 apples, $20, 50%.", ["5", "20", "50"]),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_target_language_does(
    source: str, target: str, text: str, expected: list[str]
) -> None:
    assert [after for _, after in spelled(text, source, target)] == expected


def test_a_number_with_its_word_is_one_amount() -> None:
    assert spelled("It is 45 million years", "en", "zh") == [("45 million", "4500万")]
    assert spelled("It is 45 years", "en", "zh") == [("45", "45")]
    assert spelled("$2.5  billion", "en", "zh") == [("2.5", "2.5")]  # two spaces


@settings(deadline=None)
@given(st.decimals(0, 10**9, places=2), st.booleans(), st.sampled_from(LANGUAGES[:4]))
def test_a_value_is_the_same_in_every_language(value: Decimal, is_whole: bool, target: str) -> None:
    written = f"{int(value):,}" if is_whole else f"{value:,}"
    ((_, after),) = spelled(f"About {written} metres", "en", target)
    assert unmatched(find_numbers(written), find_numbers(after)) == ([], [])


@settings(deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_amounts_stand_in_order_and_have_digits(text: str, source: str, target: str) -> None:
    found = list(find_amounts(text, source, target))
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))
    for start, end, after in found:
        assert text[start].isdecimal()
        assert text[start:end].strip() == text[start:end]
        assert any(char.isdecimal() for char in after)
