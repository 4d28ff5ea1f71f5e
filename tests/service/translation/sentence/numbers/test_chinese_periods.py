"""Chinese months are no names of months, and the parts of a period stand apart."""

from __future__ import annotations

import itertools

import pytest

from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.stages import Draft
from tests.service.translation.sentence.test_abbreviations import is_looked_at

WORDS = "一两三四五六七八九"
UNITS = ("年", "个月", "周", "天", "小时")


def entered(text: str) -> str:
    """The text as it goes in."""
    stage = enter_abbreviations(text, "zh", "en")
    assert stage is None or is_looked_at(text, "zh")
    assert stage is None or stage.leave(Draft(stage.text)).text == text
    return stage.text if stage else text


@pytest.mark.parametrize("after", ["", "后", "以上", "内有效", "的数据"])
def test_a_number_of_months_is_no_month(after: str) -> None:
    for months, word in enumerate(WORDS, 1):
        assert entered(f"他等了{months}个月{after}") == f"他等了{word}个月{after}"
    for other in ("第3个月", "3-6个月", "13个月", "3.5个月"):
        assert entered(f"他等了{other}{after}") == f"他等了{other}{after}"


def test_the_parts_of_a_period_stand_apart() -> None:
    for (large, first), (small, second) in itertools.combinations(
        zip(UNITS, "25437", strict=True), 2
    ):
        counts = [
            WORDS[int(one) - 1] if unit == "个月" else one
            for one, unit in ((first, large), (second, small))
        ]
        read = f"用{counts[0]}{large}、{counts[1]}{small}"
        for zero in ("", "零"):
            assert entered(f"用{first}{large}{zero}{second}{small}") == read
    for rate in ("1天24小时", "1周5天", "一周五天", "1年12个月"):
        assert entered(rate) == rate
    assert entered("⟦0⟧年零⟦1⟧个月") == "⟦0⟧年、⟦1⟧个月"
