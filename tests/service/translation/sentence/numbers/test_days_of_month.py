"""Days of a month without a name are carried as wholes between Chinese and English."""

from __future__ import annotations

import pytest

from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself

MONTHS = {
    "每月": "each month",
    "每个月的": "each month",
    "本月": "this month",
    "上个月": "last month",
    "上月 ": "last month",
    "下月": "next month",
    "次月": "the following month",
}
DAYS = {1: "1st", 2: "2nd", 13: "13th", 23: "23rd", 31: "31st"}


def carried(text: str, source: str = "zh") -> list[str]:
    _, (entry,) = prepared(text, pair=("zh", "en") if source == "zh" else ("en", "zh"))
    return [] if entry.carriers is None else entry.carriers.shown


@pytest.mark.parametrize(("chinese", "english"), MONTHS.items())
def test_a_day_of_a_month_is_one_in_english(chinese: str, english: str) -> None:
    for day, ordinal in DAYS.items():
        for sign in "日号":
            text = f"请于{chinese}{day}{sign}前付款。"
            assert carried(text) == [f"the {ordinal} of {english}"]
            assert [one.new for one in find_amounts(text, "zh", "en")] == carried(text)
    assert carried(f"{chinese}5日至10日放假。") == [f"the 5th to the 10th of {english}"]
    assert carried(f"{chinese}5号和20号放假。") == [f"the 5th and the 20th of {english}"]


@pytest.mark.parametrize(("chinese", "english"), [("每", "each"), ("本", "this"), ("上", "last")])
def test_a_day_of_a_month_is_one_in_chinese(chinese: str, english: str) -> None:
    for day, ordinal in DAYS.items():
        text = f"Pay before the {ordinal} of {english} month."
        assert carried(text, "en") == [f"{chinese}月{day}日"]
    text = f"We go on the 5th to the 10th of {english} month."
    assert carried(text, "en") == [f"{chinese}月5日至10日"]


@pytest.mark.parametrize("text", ["本月32日", "下月3号线开通。", "每月5元", "每月有5日"])
def test_what_is_no_day_is_not_carried(text: str) -> None:
    assert carried(text) == []


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("{} is fine.", "The 5th of each month is fine."),
        ("Pay before the {}.", "Pay before the 5th of each month."),
        ("Pay by {}.", "Pay by the 5th of each month."),
    ],
)
def test_it_has_one_article_and_begins_a_sentence(said: str, written: str) -> None:
    _, (entry,) = prepared("每月5日前付款。", pair=("zh", "en"))
    assert entry.carriers is not None
    draft = leave(entry.stages, to_itself(said.format(*entry.carriers.spellings)))
    assert draft is not None
    assert draft.text == written
