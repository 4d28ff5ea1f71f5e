"""Pairs with another number, country, language, city, weekday or month on both sides."""

from __future__ import annotations

import random

import pytest

from model.training.substitution import (
    name_gaps,
    number_gaps,
    with_another_name,
    with_another_number,
)

Pair = tuple[str, str]
ENGLISH_GERMAN = ("I am forty-three years old.", "Ich bin dreiundvierzig Jahre alt.")


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "de"), ("It is 15:30.", "Es ist 15:30 Uhr.")),
        (("en", "de"), ("On May 25", "Am 25. Mai")),
        (("en", "de"), ("A 43-year-old man", "Ein 43-jähriger Mann")),
        (("zh", "en"), ("三百二十五人", "25 people")),
    ],
)
def test_numbers_with_limits_of_their_own_and_parts_of_numbers_stay(
    languages: Pair, pair: Pair
) -> None:
    assert number_gaps([pair], languages) == []


def test_both_sides_get_the_same_number_and_digits_stay_digits() -> None:
    (gap,) = number_gaps([ENGLISH_GERMAN], ("en", "de"))
    rng = random.Random(1)
    everything = [with_another_number(gap, rng) for _ in range(400)]
    styles = set()
    for (english, german), sides in everything:
        before, after = "I am ", " years old."
        number = english.removeprefix(before).removesuffix(after)
        spelled = german.removeprefix("Ich bin ").removesuffix(" Jahre alt.")
        assert number != english
        assert spelled != german
        assert sides == (0, 1)
        assert number[0].isdigit() == spelled[0].isdigit()
        styles.add(number[0].isdigit())
        if number[0].isdigit():
            assert number.replace(",", "") == spelled.replace(".", "")
    assert styles == {True, False}
    assert len({pair for pair, _ in everything}) > 150


def renamed(pair: Pair, languages: Pair) -> list[Pair]:
    (gap,) = name_gaps([pair], languages)
    rng = random.Random(1)
    return [with_another_name(gap, rng) for _ in range(900)]


@pytest.mark.parametrize(
    ("languages", "frames", "names", "others"),
    [
        (
            ("zh", "en"),
            ("我来自{}。", "I come from {}."),
            ("法国", "France"),
            ("匈牙利", "Hungary"),
        ),
        (("en", "zh-Hans"), ("He speaks {}.", "他会说{}。"), ("French", "法语"), ("Thai", "泰语")),
        (
            ("de", "en"),
            ("Bis {}!", "See you on {}!"),
            ("Montag", "Monday"),
            ("Mittwoch", "Wednesday"),
        ),
    ],
)
def test_a_thing_that_both_sides_name_gives_way_to_another_of_its_kind(
    languages: Pair, frames: Pair, names: Pair, others: Pair
) -> None:
    def framed(pair: Pair) -> Pair:
        return frames[0].format(pair[0]), frames[1].format(pair[1])

    everything = renamed(framed(names), languages)
    assert framed(others) in everything
    assert others in everything
