"""Chinese times, months and days of the week go in so that networks read what was written."""

from __future__ import annotations

import itertools

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence_limits import SentenceLimits
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.job import ModelJob, TranslationJob
from service.translation.preparation import Preparation
from tests.service.translation.sentence.numbers.test_numerals import in_words
from tests.service.translation.sentence.test_abbreviations import entered
from tests.service.translation.sentence.test_stages import tokenizer_of

LIMITS = SentenceLimits(40, 60, 8)


def spoken(number: int) -> str:
    return in_words(number).replace("一十", "十")


def read_by_network(text: str) -> str:
    work = ModelJob(TranslationJob([text], "zh", "en"), [text], [0], "zh", "en", DecodingOptions())
    _, (entry,) = Preparation(tokenizer_of(16, "zh-en"), LIMITS, work).prepare()
    return entry.text


@pytest.mark.parametrize("hour", range(25))
def test_a_time_with_minutes_is_the_same_in_every_spelling(hour: int) -> None:
    for minute in (5, 15, 30, 59):
        times = [
            *(f"{hour}时{minute}分", f"{hour}点{minute:02}分", f"{hour}：{minute:02}"),
            *([f"{spoken(hour)}时{spoken(minute)}分"] if hour and minute > 9 else []),
        ]
        for time in times:
            assert entered(f"会议{time}开始", "zh") == f"会议{hour}:{minute:02}开始"
            numbers = find_numbers(f"{hour}:{minute:02}")
            assert unmatched(find_numbers(entered(time, "zh") or ""), numbers) == ([], [])


@pytest.mark.parametrize("hour", range(1, 13))
def test_a_quarter_is_so_many_minutes(hour: int) -> None:
    """Networks know 三点半, and take 三刻 for three quarters or for 15 minutes."""
    for quarter, minute in (("一刻", "15"), ("三刻", "45")):
        for text in ("{}", "现在是{}。", "{}出发"):
            assert entered(text.format(f"{spoken(hour)}点{quarter}"), "zh") == text.format(
                f"{hour}:{minute}"
            )


@pytest.mark.parametrize("sign", "至到-–～")
def test_hours_after_twelve_go_in_with_minutes(sign: str) -> None:
    for first, last in itertools.product((6, 9, 11, 13, 20), (8, 12, 15, 17, 22)):
        read = entered(f"每天{first}点{sign}{last}点营业", "zh")
        if max(first, last) > 12:
            assert read == f"每天{first}:00-{last}:00营业"
        else:
            assert ":00" not in (read or "")


@pytest.mark.parametrize("part", ["凌晨", "早上", "上午", "清晨"])
def test_the_morning_stays_the_morning(part: str) -> None:
    for hour in range(1, 13):
        for words, minute in (("半", "30"), ("二十分", "20"), ("一刻", "15")):
            text = f"{part}{spoken(hour)}点{words}开门"
            assert entered(text, "zh") == f"{part}{hour}:{minute}开门"
        assert entered(f"{part}{spoken(hour)}点", "zh") == f"{part}{hour}:00"


@pytest.mark.parametrize(
    ("ends", "read"),
    [
        (("周一", "周五"), "周一至周五"),
        (("星期六", "星期天"), "星期六至星期天"),
        (("3月", "5月"), "3月到5月份"),
        (("9:30", "18:30"), "9:30-18:30"),
    ],
)
def test_the_network_reads_both_ends_of_a_range(ends: tuple[str, str], read: str) -> None:
    for sign, end in itertools.product("～~-–", ("", "开放。", "，开放")):
        assert read_by_network(f"每年{sign.join(ends)}{end}") == f"每年{read}{end}"


@pytest.mark.parametrize("text", ["壹佰元整", "貳仟參佰元", "陸拾元"])
def test_the_network_reads_an_amount_of_formal_numerals_alone(text: str) -> None:
    assert read_by_network(text) in ("100元", "2,300元", "60元")
