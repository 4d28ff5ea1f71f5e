"""From one day of the week to another: no day is lost."""

from __future__ import annotations

import itertools

import pytest

from service.translation.checks.day_ranges import DAYS, find_day_ranges, has_day_range, lost_days
from service.translation.sentence.numbers.amounts import find_amounts

WEEK = {code: [*dict.fromkeys(days.values())] for code, days in DAYS.items()}
WEEK["zh"] = [f"周{day}" for day in "一二三四五六日"]
JOINTS = {"de": (" bis ", "–"), "en": (" to ", " - "), "zh": ("至", "～")}


@pytest.mark.parametrize("pair", [*itertools.permutations(WEEK, 2)])
def test_a_range_is_carried_as_the_target_writes_it_and_lost_without_a_day(
    pair: tuple[str, str],
) -> None:
    source, target = pair
    for (first, last), joint in itertools.product(
        itertools.permutations(range(7), 2), JOINTS[source]
    ):
        text = f"{WEEK[source][first]}{joint}{WEEK[source][last]}"
        assert has_day_range(text, source)
        (amount,) = find_amounts(text, *pair)
        there = [WEEK[target][day] for day in (first, last)]
        assert amount == (0, len(text), JOINTS[target][0].join(there))
        assert lost_days(text, amount.new, pair) == []
        for day in there:
            assert lost_days(text, f"{day}, {day}", pair) == [text]


@pytest.mark.parametrize(
    ("pair", "text", "expected"),
    [
        (("en", "zh"), "Mon.–Fri 9 am, Thurs through Sat", ["周一至周五", "周四至周六"]),
        (("de", "en"), "Mo-Fr, Sa.–So", ["Monday to Friday", "Saturday to Sunday"]),
        (("zh", "de"), "星期三到礼拜天", ["Mittwoch bis Sonntag"]),
        (("en", "fr"), "Monday to Friday", []),
        (("en", "de"), "Sunday-to-Monday, on Monday. To Fred, Mon-Frio", []),
        (("zh", "en"), "周一到三点，下周五", []),
    ],
)
def test_other_days_are_no_range(pair: tuple[str, str], text: str, expected: list[str]) -> None:
    assert [one.written(pair[1]) for one in find_day_ranges(text, *pair)] == expected
