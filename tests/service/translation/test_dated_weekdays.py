"""A date keeps the day of the week beside it."""

from __future__ import annotations

import itertools

import pytest

from service.translation.checks.dated_weekdays import lost_days
from service.translation.checks.dates import lost_dates
from service.translation.sentence.numbers.amounts import find_amounts

DAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "de": ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    "zh": ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"],
}
WRITTEN = {
    "en": ("{}, March 5, 2024", "March 5, 2024 ({})"),
    "de": ("{}, 5. März 2024", "5. März 2024 ({})"),
    "zh": ("2024年3月5日{}", "2024年3月5日（{}）"),
}
DATES = {"en": "March 5, 2024", "de": "5. März 2024", "zh": "2024年3月5日"}


@pytest.mark.parametrize("pair", [*itertools.permutations(DAYS, 2)])
def test_a_date_is_carried_with_its_day_and_missed_without(pair: tuple[str, str]) -> None:
    source, target = pair
    for day, is_in_brackets in itertools.product(range(7), (0, 1)):
        text = WRITTEN[source][is_in_brackets].format(DAYS[source][day])
        right = WRITTEN[target][is_in_brackets].format(DAYS[target][day])
        wrong = WRITTEN[target][is_in_brackets].format(DAYS[target][day - 1])
        assert [one.new for one in find_amounts(text, *pair)] == [right]
        assert lost_days(text, right, pair) == lost_dates(text, right, pair) == []
        assert lost_days(text, DATES[target], pair) == lost_days(text, wrong, pair) == [text]
        assert lost_days(DATES[source], DATES[target], pair) == []


def test_other_spellings_of_a_day_are_its_names() -> None:
    for text in ("3月5日（周二）", "3月5日，星期二", "3月5日 禮拜二"):
        for right in ("Tuesday, March 5", "Tue, March 5", "March 5 (Tues.)"):
            assert lost_days(text, right, ("zh", "en")) == []
        assert lost_days(text, "March 5 (Thursday)", ("zh", "en")) == [text]
    assert lost_days("On Sunday, 5 May", "5月5日（周日）", ("en", "zh")) == []
    assert lost_days("March 5. Tuesday is fine.", "3月5日。", ("en", "zh")) == []
    assert lost_days("Tuesday, March 5", "mardi 5 mars", ("en", "fr")) == []


OTHERS = {
    "en": ["Money", "Tuesna", "Wedding", "Thus", "Friend", "Saturn", "Sundance"],
    "de": ["Moritz", "Die", "Mit", "Doch", "Frau", "Sand", "Sonne"],
}


@pytest.mark.parametrize("language", OTHERS)
def test_a_word_that_begins_as_a_short_name_is_no_day(language: str) -> None:
    for day, other in enumerate(OTHERS[language]):
        text, pair = f"3月5日（{DAYS['zh'][day]}）", ("zh", language)
        assert lost_days(text, f"{other} {DATES[language]}", pair) == [text]
        assert lost_days(text, f"{DAYS[language][day]}abend, {DATES[language]}", pair) == []
