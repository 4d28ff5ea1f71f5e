"""Pairs with Chinese names in place of those of textbooks."""

from __future__ import annotations

import random
import re

import pytest

from model.training.name_pairs import name_gaps, random_name, with_chinese_name

PAIR = ("汤姆认识我。", "Tom knows me.")


def made(pair: tuple[str, str], languages: tuple[str, str]) -> set[tuple[str, str]]:
    (gap,) = name_gaps([pair], languages)
    rng = random.Random(1)
    return {with_chinese_name(gap, rng) for _ in range(300)}


def test_a_random_name_or_a_surname_with_a_title_stands_on_both_sides() -> None:
    everything = made(PAIR, ("zh", "en"))
    assert len(everything) > 150
    titled = {chinese for chinese, english in everything if english.startswith("Mr. ")}
    assert titled
    for chinese, english in everything:
        assert re.fullmatch(r"\w(\w{1,2}|先生)认识我。", chinese)
        assert re.fullmatch(r"(Mr\. [A-Z]\w+|[A-Z]\w+ [A-Z]\w+) knows me\.", english)
        assert ("先生" in chinese) == (chinese in titled)


def test_the_chinese_side_may_be_the_second() -> None:
    swapped = {(chinese, english) for english, chinese in made(PAIR[::-1], ("en", "zh-Hans"))}
    assert swapped == made(PAIR, ("zh", "en"))


def test_a_woman_is_ms() -> None:
    everything = made(("玛丽在家。", "Mary is at home."), ("zh", "en"))
    titles = {english.split()[0] for chinese, english in everything if "女士" in chinese}
    assert titles == {"Ms."}


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "de"), ("Tom knows me.", "Tom kennt mich.")),
        (("zh", "de"), PAIR),
        (("zh-Hant", "en"), PAIR),
        (("zh", "en"), ("他认识我。", "Tom knows me.")),
        (("zh", "en"), ("汤姆认识汤姆。", "Tom knows Tom.")),
        (("zh", "en"), ("汤姆·汉克斯认识我。", "Tom Hanks knows me.")),
        (("zh", "en"), ("圣约翰学院", "St. John's College")),
        (("zh", "en"), ("我有番茄。", "I have tomatoes.")),
        (("zh", "en"), ("汤姆喜欢番茄。", "He likes Tomatoes.")),
        (("zh", "en"), ("", "")),
    ],
)
def test_parts_of_longer_names_and_other_languages_stay(
    languages: tuple[str, str], pair: tuple[str, str]
) -> None:
    assert name_gaps([pair], languages) == []


def test_names_are_spelled_as_one_surname_and_one_given_name() -> None:
    rng = random.Random(3)
    names = {random_name(rng) for _ in range(500)}
    assert {len(chinese) for chinese, _ in names} == {2, 3}
    assert all(re.fullmatch(r"[A-Z][a-zü]+ [A-Z][a-z]+", romanised) for _, romanised in names)
