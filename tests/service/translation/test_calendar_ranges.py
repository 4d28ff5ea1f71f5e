"""From one day of the week or month to another: none of the two is lost."""

from __future__ import annotations

import itertools

import pytest

from service.translation.checks.calendar_ranges import (
    DAYS,
    find_calendar_ranges,
    lost_calendar_ranges,
)
from service.translation.checks.dates import MONTHS
from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.sentence.numbers.amounts import find_amounts
from tests.service.translation.sentence.test_stages import prepared

WEEK = {code: [*dict.fromkeys(days.values())] for code, days in DAYS.items()}
WEEK["zh"] = [f"周{day}" for day in "一二三四五六日"]
YEAR = {**MONTHS, "zh": [f"{month}月" for month in range(1, 13)]}
JOINTS = {"de": (" bis ", "–"), "en": (" to ", " - "), "zh": ("至", "～")}
LISTS = {"de": (", ", " und ", " oder "), "en": (", ", " and ", " or "), "zh": ("、", "和", "或")}


@pytest.mark.parametrize("names", [WEEK, YEAR])
@pytest.mark.parametrize("pair", [*itertools.permutations(JOINTS, 2)])
def test_a_range_is_carried_as_the_target_writes_it_and_lost_without_one_end(
    pair: tuple[str, str], names: dict[str, list[str]]
) -> None:
    source, target = pair
    for ends in itertools.permutations(range(len(names[source])), 2):
        for joint in JOINTS[source]:
            text = joint.join(names[source][end] for end in ends)
            (amount,) = find_amounts(text, *pair)
            there = [names[target][end] for end in ends]
            assert amount == (0, len(text), JOINTS[target][0].join(there))
            assert lost_calendar_ranges(text, amount.new, pair) == []
            for one in there:
                assert lost_calendar_ranges(text, f"{one}, {one}", pair) == [text]


@pytest.mark.parametrize("pair", [*itertools.permutations(LISTS, 2)])
def test_several_days_are_carried_as_the_target_lists_them_and_lost_without_one(
    pair: tuple[str, str],
) -> None:
    source, target = pair
    for days in itertools.permutations(range(7), 3):
        for joints in itertools.product(range(3), repeat=2):
            text, there = (_listed(language, days, joints) for language in pair)
            assert has_spoken_numbers(text, source)
            (amount,) = find_amounts(text, *pair)
            assert amount == (0, len(text), there)
            assert lost_calendar_ranges(text, there, pair) == []
            for day in days:
                rest = [WEEK[target][one] for one in days if one != day]
                assert lost_calendar_ranges(text, ", ".join(rest), pair) == [text]


@pytest.mark.parametrize("source", ["en", "de"])
def test_short_names_of_several_days_enter_as_a_whole_on_the_way_to_chinese(source: str) -> None:
    """Networks read Mon, Wed as the names of men."""
    short = {day: name for name, day in reversed(DAYS[source].items())}
    for first, last in itertools.combinations(range(7), 2):
        for joint, written in (
            (", ", "、"),
            ("-", "至"),
            ("–", "至"),
            (f"{JOINTS[source][0]}", "至"),
        ):
            days = joint.join(short[WEEK[source][day]] for day in (first, last))
            for text in (f"We go {days}.", days):
                _, (entry,) = prepared(text, pair=(source, "zh"))
                assert entry.carriers is not None, text
                whole = f"{WEEK['zh'][first]}{written}{WEEK['zh'][last]}"
                assert entry.carriers.shown == [whole]


def _listed(language: str, days: tuple[int, ...], joints: tuple[int, ...]) -> str:
    first, *others = (WEEK[language][day] for day in days)
    rest = (LISTS[language][joint] + day for joint, day in zip(joints, others, strict=True))
    return "".join([first, *rest])


def test_ranges_are_looked_for_without_a_number() -> None:
    english = itertools.product([*WEEK["en"], *YEAR["en"]], (" to ", "–", "-", " - "))
    assert all(has_spoken_numbers(f"{name}{joint}{name[:3]}", "en") for name, joint in english)
    german = itertools.product([*WEEK["de"], *YEAR["de"]], (" bis ", "–", "-", " - "))
    assert all(has_spoken_numbers(f"{name}{joint}{name}", "de") for name, joint in german)
    assert has_spoken_numbers("星期三到礼拜天", "zh")
    assert not has_spoken_numbers("From Sunday to the sea-side – in May", "en")


@pytest.mark.parametrize(
    ("pair", "text", "expected"),
    [
        (("en", "zh"), "Mon.–Fri 9-17, Thurs through Sat", ["周一至周五", "周四至周六"]),
        (("de", "en"), "Mo-Fr 9–12 Uhr, Sa.–So", ["Monday to Friday", "Saturday to Sunday"]),
        (("zh", "de"), "星期三到礼拜天，十月至1月", ["Mittwoch bis Sonntag", "Oktober bis Januar"]),
        (("en", "de"), "Jan.–Sep 2024", ["Januar bis September"]),
        (("en", "fr"), "Monday to Friday", []),
        (("en", "de"), "Sunday-to-Monday, on Monday. To Fred, Mon-Frio", []),
        (("en", "de"), "5 March to May, March to May 5", []),
        (("zh", "en"), "周一到三点，下周五，13月至5月，3月至5月6日，农历3月至5月", []),
    ],
)
def test_other_days_and_dates_are_no_range(
    pair: tuple[str, str], text: str, expected: list[str]
) -> None:
    assert [one.written for one in find_calendar_ranges(text, *pair)] == expected
