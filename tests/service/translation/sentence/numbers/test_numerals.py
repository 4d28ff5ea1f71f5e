"""Chinese numbers in words are found by value, and written as the other language writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.checks.formal_numerals import in_usual
from service.translation.checks.number_words import chinese_value
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.checks.spelled_out import in_digits
from service.translation.language.chinese import to_simplified
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.numbers.numerals import find_numerals
from tests.service.translation.sentence.test_abbreviations import entered

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
    """A number below 10 ** 16 in words."""
    for unit, word in ((10**8, "亿"), (10**4, "万")):
        large, small = divmod(number, unit)
        if large:
            gap = "零" if 0 < small < unit // 10 else ""
            return f"{in_words(large)}{word}{gap}{in_words(small)}"
    return section(number)


@given(st.integers(10, 99_999_999))
def test_a_number_in_words_is_found_by_value(number: int) -> None:
    words = in_words(number)
    assert chinese_value(words) == number
    assert [one.values for one in find_numerals(f"他有{words}本")] == [(number,)]
    (amount,) = find_amounts(f"他有{words}本", "zh", "en")
    assert unmatched(find_numbers(f"有{words}本"), find_numbers(amount.new)) == ([], [])


FORMAL = str.maketrans("一二三四五六七八九十百千", "壹贰叁肆伍陆柒捌玖拾佰仟")
TRADITIONAL = str.maketrans("贰叁陆万亿元圆", "貳參陸萬億元圓")


@given(st.integers(1, 10**12), st.integers(0, 99), st.sampled_from("元圆"), st.booleans())
def test_a_formal_numeral_is_the_number(
    yuan: int, fen: int, unit: str, is_traditional: bool
) -> None:
    """Of a cheque, with its tenths and hundredths."""
    rest = "".join(f"{in_words(n)}{u}" for n, u in ((fen // 10, "角"), (fen % 10, "分")) if n)
    usual = f"{in_words(yuan)}{unit}{rest or '整'}"
    words = usual.translate(FORMAL)
    text = f"大写：{words.translate(TRADITIONAL) if is_traditional else words}。"
    value = Decimal(yuan) + Decimal(fen) / 100
    assert in_digits(text).text.replace(",", "") == f"大写：{value}元。"
    assert "元" in (entered(to_simplified(text), "zh") or "")
    (amount,) = find_amounts(to_simplified(text), "zh", "en")
    assert amount.new == f"{value:,} yuan"
    assert in_usual(to_simplified(text)) == f"大写：{usual}。"


@pytest.mark.parametrize(
    "text",
    ["大陆", "队伍，伍先生", "收拾，拾取", "叁", "陆地", "参加第柒条", "佰", "形参元素", "陆元朗"],
)
def test_what_has_the_character_of_a_formal_numeral_is_none(text: str) -> None:
    assert in_digits(text).text == in_usual(text) == text


@given(st.integers(10**8, 10**16 - 1))
def test_a_large_number_in_words_has_its_value(number: int) -> None:
    assert chinese_value(in_words(number)) == number


@given(
    st.integers(0, 999),
    st.text("0123456789", min_size=1, max_size=4).filter(lambda rest: rest.strip("0")),
    st.sampled_from((("亿", 10**8), ("万亿", 10**12), ("万", 10**4), ("倍", 1), ("公里", 1))),
)
def test_decimals_in_words_are_those_in_digits(
    whole: int, rest: str, scale: tuple[str, int]
) -> None:
    decimals = "".join(DIGITS[int(digit)] for digit in rest)
    words = f"{in_words(whole) or '零'}点{decimals}"
    unit, factor = scale
    assert in_digits(f"约{words}{unit}。").text == f"约{whole}.{rest}{unit}。"
    assert in_digits(f"约百分之{words}。").text == f"约{whole}.{rest}%。"
    value = Decimal(f"{whole}.{rest}") * factor
    numbers = find_numbers(f"约{words}{unit}")
    assert unmatched(numbers, find_numbers(f"about {value:f}")) == ([], [])


@given(
    st.integers(1, 999).map(lambda tens: 10 * tens),
    st.sampled_from((("", 1), ("万", 10**4), ("百万", 10**6), ("亿", 10**8), ("万亿", 10**12))),
    st.sampled_from("多余"),
    st.booleans(),
)
def test_some_more_than_a_number_is_more_than_all_of_it(
    number: int, scale: tuple[str, int], sign: str, is_in_words: bool
) -> None:
    value = number * scale[1]
    text = f"这里有{in_words(number) if is_in_words else number}{sign}{scale[0]}人"
    went_in = entered(text, "zh")
    assert went_in is not None
    assert "有超过" in went_in
    assert [one.written for one in find_numbers(text).certain] == [text[3:-1]]
    for numbers in (find_numbers(went_in), find_numbers(f"more than {value:,} people")):
        assert unmatched(find_numbers(text), numbers) == ([], [])
    for target in ("en", "de"):
        (amount,) = find_amounts(text, "zh", target)
        assert amount.new.startswith(("more than ", "mehr als "))
        assert unmatched(find_numbers(text), find_numbers(amount.new)) == ([], [])


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("十几万，二十几个，百余名，20多%", "超过10万，超过20个，超过100名，超过20%"),
        ("约500多万，达到三百多万，三万多亿", "约500万，达到300万，超过3万亿"),
        ("500余额，一百多分之一，几十多，数十余万，25多，第十多，十多功能，三百多少", None),
    ],
)
def test_what_more_stands_with(text: str, digits: str | None) -> None:
    assert in_digits(text).text == (digits or text)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("约三点一四。身高一米六五，一米八的", "约3.14。身高1.65米，1.8米的"),
        ("一点一点地，一点一滴，两点一线，五点一起走，晚上六点五元", None),
        ("下午三点一刻，八点零五分，三点二十，五点一百人，六点一分，两点半", None),
        (
            "现在八点三五，时间是九点二一，第三点一二，一米一棵树，一米二分，1米83厘米，八点零五，走",
            None,
        ),
    ],
)
def test_what_is_no_decimal_stays(text: str, digits: str | None) -> None:
    assert in_digits(text).text == (digits or text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("花了一万二，一百五十多", ["12,000", "more than 150"]),
        ("百分之五到百分之九十九点九", ["5%", "99.9%"]),
        ("三四十人，五六百万", ["30–40", "5 million–6 million"]),
        ("一九四九年，十九世纪，八点一刻", ["1949", "19", "8:15"]),
        ("30-50万，1.5-2亿", ["300,000–500,000", "150 million–200 million"]),
        ("千万别，三分之二，十一月，第三百条，三五个", []),
        ("双十一，十六进制，七十年代，一点半点", []),
        ("中华民国一百零七年度，民国99年一月二日", ["2018", "January 2, 2010"]),
        ("自一百十二年三月三日", ["March 3, 2023"]),
        ("3万亿", ["3 trillion"]),
        ("三岁半，两年半，3块5，一倍半", ["3.5 years old", "2.5 years", "3.5 yuan", "1.5 times"]),
        ("三万亿，五点二亿，零点五万", ["3 trillion", "520 million", "5000"]),
    ],
)
def test_numbers_in_words_are_carried_in_digits(text: str, written: list[str]) -> None:
    assert [amount.new for amount in find_amounts(text, "zh", "en")] == written
