"""Numbers have the same value in every spelling, digits or words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.checks.number_words import number_words
from service.translation.checks.numbers import find_numbers, unmatched


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("1,000 men", "1.000 Männer"), ("1000", "1 000"), ("1'000", "1000"), ("3.14", "3,14")),
        *(("2023年5月3日", "May 3, 2023"), ("24.12.2024", "12/24/2024"), ("1. Mai", "May 1st")),
        *(("at 3 p.m.", "um 15 Uhr"), ("下午3点", "15:00 or 3"), ("14:30", "2:30 p.m.")),
        *(("一万", "ten thousand"), ("二〇二四年", "2024"), ("twenty-five", "25")),
        *(("the 1990s", "90er Jahre"), ("20世纪90年代", "the 1990s"), ("１２", "12")),
        *(("3 books", "trois livres"), ("80 km", "quatre-vingts kilomètres"), ("1,000", "1 000")),
        *(("千万不要", "never"), ("十分好", "very good"), ("三四个", "three or four")),
        *(
            ("赫歇尔400目录", "Herschel400 list"),
            ("0,2,4,6,8", "0,2,4,6,8"),
            ("a", "einer"),
            ("", ""),
        ),
    ],
)
def test_the_same_value_in_another_spelling_matches(source: str, target: str) -> None:
    found = find_numbers(source), find_numbers(target)
    if "or 3" in target:
        assert unmatched(*found) == ([], ["00", "3"])
    else:
        assert unmatched(*found) == ([], [])


@pytest.mark.parametrize(
    ("source", "target", "lost", "added"),
    [
        ("in 2013", "in 2012", ["2013"], ["2012"]),
        ("Ich habe", "I have 3", [], ["3"]),
        ("1,000", "10,000", ["1,000"], ["10,000"]),
        ("两万", "two thousand", ["两万"], []),
        ("30 %", "13 %", ["30"], ["13"]),
    ],
)
def test_another_value_does_not(
    source: str, target: str, lost: list[str], added: list[str]
) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == (lost, added)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("three hundred and five", 305), ("two thousand twenty-four", 2024), ("ein", 1)),
        *(
            ("三百五十", 350),
            ("一百零五", 105),
            ("十二", 12),
            ("三万五千", 35000),
            ("两亿", 2 * 10**8),
        ),
        *(("deux mille vingt-quatre", 2024), ("mille neuf cent", 1900), ("trois cents", 300)),
        *(("siebzehnhundert", 1700), ("one million two hundred thousand", 1_200_000)),
    ],
)
def test_words_have_their_value(text: str, value: int) -> None:
    assert value in {word.value for word in number_words(text)}


@pytest.mark.parametrize("text", ["三五百", "hundertwasser", "bund", "tausendfach", "und"])
def test_what_is_no_number_has_no_large_value(text: str) -> None:
    assert all(word.value < 1000 for word in number_words(text))


NUMBERISH = "0123456789.,'/:- 年月万亿百千一二三abhundertthousand\u00a0世纪年代pm"


@given(st.text(alphabet=NUMBERISH, max_size=200))
def test_any_text_matches_itself(text: str) -> None:
    numbers = find_numbers(text)
    assert unmatched(numbers, numbers) == ([], [])


@pytest.mark.parametrize("part", ["1", "1.", "1,1", "1 ", "1:1", "一", "一千", "hundert", "1世纪"])
def test_long_texts_are_read_at_once(part: str) -> None:
    """Quadratic work would take hours."""
    text = part * 50_000
    numbers = find_numbers(text)
    assert unmatched(numbers, numbers) == ([], [])
