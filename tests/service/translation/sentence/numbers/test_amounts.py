"""What is read as an amount, whatever stands beside what."""

from __future__ import annotations

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.sentence.numbers.amounts import find_amounts

CHINESE = (
    "一",
    "二",
    "两",
    "百",
    "万",
    "亿",
    "点",
    "半",
    "分之",
    "民国",
    "年",
    "月",
    "日",
    "折",
    "零下",
    "米",
    "又",
    "三",
    "四",
    "个",
    "世纪",
    "公元前",
    "多",
    "余",
    "几",
)
DIGITS = ("5", "9", "12", "3.5", "1,234", "٣", "𝟐", "½", "-", "～", ".", ":")
WORDS = (
    "st",
    "th",
    "p.m.",
    "to",
    "May",
    "Mai",
    "Uhr",
    "k",
    "bn",
    "million",
    "$",
    "%",
    "⟦0⟧",
    " ",
    "one",
    " point ",
)
PARTS = st.sampled_from(CHINESE + DIGITS + WORDS)
TEXTS = st.lists(PARTS, max_size=12).map("".join)


@settings(deadline=None, max_examples=500)
@example("May 9 to 11 p.m.", "", ("en", "zh"))
@example("3.552.0年", "5", ("zh", "en"))
@given(TEXTS, TEXTS, st.sampled_from([("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "fr")]))
def test_amounts_share_nothing_and_every_number_has_a_value(
    source: str, target: str, pair: tuple[str, str]
) -> None:
    amounts = list(find_amounts(source, *pair))
    assert all(one.end <= other.start for one, other in itertools.pairwise(amounts))
    assert not any("E+" in amount.new for amount in amounts)
    lost, added = unmatched(find_numbers(source), find_numbers(target))
    assert all(one in source for one in lost)
    assert all(one in target for one in added)


@given(st.integers(1, 9), st.sampled_from(["", "打"]), st.sampled_from(["", "优惠"]), st.booleans())
def test_a_chinese_discount_is_carried_as_what_is_off(
    tenths: int, before: str, after: str, is_in_words: bool
) -> None:
    """Networks make 5 % off of a carried 5 before 折."""
    digit = "一二三四五六七八九"[tenths - 1] if is_in_words else str(tenths)
    for target, off in (("en", "% off"), ("de", "% Rabatt"), ("fr", "%")):
        (amount,) = find_amounts(f"全场{before}{digit}折{after}。", "zh", target)
        assert amount == (2, 4 + len(before + after), f"{100 - 10 * tenths}{off}")
