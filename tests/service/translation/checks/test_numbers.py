"""Numbers have the same value in every spelling, digits or words."""

from __future__ import annotations

import pytest
from babel.dates import get_month_names
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from service.translation.checks.number_words import number_words
from service.translation.checks.numbers import find_numbers, unmatched


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("1,000 men", "1.000 Männer"), ("1000", "1 000"), ("1'000", "1000"), ("3.14", "3,14")),
        *(("1.234,5", "1,234.5"), ("50%", "50 %"), ("50%", "百分之五十"), ("5km", "5 km")),
        *(("2023年5月3日", "May 3, 2023"), ("24.12.2024", "12/24/2024"), ("1. Mai", "May 1st")),
        *(("300万人", "3 million people"), ("1.5亿", "150,000,000"), ("2 Mio. Euro", "2,000,000")),
        *(("at 3 p.m.", "um 15 Uhr"), ("14:30", "2:30 p.m.")),
        *(("三百五十", "350"), ("三百五十", "three hundred and fifty"), ("一百", "a hundred")),
        *(("一万", "ten thousand"), ("二〇二四年", "2024"), ("twenty-five", "25")),
        *(("十二", "12"), ("一百零五", "105"), ("三万五千", "35000"), ("两亿", "200000000")),
        *(("dreihundertfünfundzwanzig", "325"), ("zwanzigtausend", "20,000"), ("ein", "1")),
        *(("hundert", "100"), ("zwölftausenddreihundert", "12300"), ("siebzehnhundert", "1700")),
        *(("two thousand twenty-four", "2024"), ("one million two hundred thousand", "1200000")),
        *(("the 1990s", "90er Jahre"), ("20世纪90年代", "the 1990s"), ("１２", "12")),
        *(("2 cats", "two cats"), ("12 eggs", "ein Dutzend Eier"), ("the second", "der 2.")),
        *(("3 books", "trois livres"), ("80 km", "quatre-vingts kilomètres"), ("1,000", "1 000")),
        *(("quatre-vingt-dix-sept", "97"), ("soixante et onze", "71"), ("Quatre-Vingts", "80")),
        *(("deux mille vingt-quatre", "2024"), ("mille neuf cent", "1900"), ("première", "1")),
        *(("trois cents", "300"), ("deux millions", "2000000"), ("nonante-neuf", "99")),
        *(("3 May", "le 3 mai"), ("5/2", "5 février"), ("at 3 p.m.", "à 15 h")),
        *(("千万不要", "never"), ("十分好", "very good"), ("三四个", "three or four")),
        *(("五十千米", "50 kilometres"), ("COVID-19", "Covid-19"), ("MP3", "ein Lied")),
        *(("赫歇尔400目录", "Herschel400 list"), ("0,2,4,6,8", "0,2,4,6,8"), ("a", "einer")),
    ],
)
def test_the_same_value_in_another_spelling_matches(source: str, target: str) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == ([], [])


@pytest.mark.parametrize(
    ("source", "target", "lost", "added"),
    [
        ("in 2013", "in 2012", ["2013"], ["2012"]),
        ("I have 3", "Ich habe", ["3"], []),
        ("Ich habe", "I have 3", [], ["3"]),
        ("7 and 7", "7", ["7"], []),
        ("1,000", "10,000", ["1,000"], ["10,000"]),
        ("3.14", "314", ["3.14"], ["314"]),
        ("两万", "two thousand", ["两万"], []),
        ("24.12.2024", "24.11.2024", ["12"], ["11"]),
        ("30 %", "13 %", ["30"], ["13"]),
        ("the 2-1 win", "1-1", ["2"], ["1"]),
        ("下午3点", "15:00 or 3", [], ["00", "3"]),
    ],
)
def test_another_value_does_not(
    source: str, target: str, lost: list[str], added: list[str]
) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == (lost, added)


@pytest.mark.parametrize("locale", ["en", "de", "fr", "fr_CH"])
def test_numbers_and_months_are_spelled_as_in_other_tables(locale: str) -> None:
    spelled = [(name, n) for n, name in get_month_names("wide", locale=locale).items()]
    spelled += [(name, n) for n, name in get_month_names("abbreviated", locale=locale).items()]
    spelled += [(num2words(n, lang=locale), n) for n in range(100)]
    spelled += [(num2words(n, lang=locale, to="ordinal"), n) for n in range(20)]
    for words, value in spelled:
        assert value in {number.value for number in number_words(words)}, words


@pytest.mark.parametrize("text", ["三五百", "hundertwasser", "bund", "tausendfach", "und"])
def test_what_is_no_number_has_no_large_value(text: str) -> None:
    assert all(word.value < 1000 for word in number_words(text))


NUMBERISH = "٣\U00010d400123456789.,'/:- 年月万亿百千一二三abhundertthousand\u00a0世纪年代pm"


@given(st.text(alphabet=NUMBERISH, max_size=200))
def test_any_text_matches_itself(text: str) -> None:
    numbers = find_numbers(text)
    assert unmatched(numbers, numbers) == ([], [])
