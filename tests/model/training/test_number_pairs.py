"""Pairs with another number: which numbers are found, and what takes their place."""

from __future__ import annotations

import random

import pytest

from model.training.substitution import number_gaps, with_another_number

Pairs = list[tuple[str, str]]
ENGLISH_GERMAN = ("I am forty-three years old.", "Ich bin dreiundvierzig Jahre alt.")
CHINESE_ENGLISH = ("我今年四十三岁。", "I am forty-three years old.")


def made(
    pair: tuple[str, str], languages: tuple[str, str], count: int = 400
) -> list[tuple[tuple[str, str], tuple[int, ...]]]:
    (gap,) = number_gaps([pair], languages)
    rng = random.Random(1)
    return [with_another_number(gap, rng) for _ in range(count)]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "de"), ENGLISH_GERMAN),
        (("en", "de"), ("I am 43 years old.", "Ich bin dreiundvierzig Jahre alt.")),
        (("zh", "en"), CHINESE_ENGLISH),
        (("zh-Hans", "en"), ("我等了十五分钟。", "I waited for 15 minutes.")),
    ],
)
def test_a_number_that_both_sides_have_is_found(
    languages: tuple[str, str], pair: tuple[str, str]
) -> None:
    assert len(number_gaps([pair], languages)) == 1


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "de"), ("I am 43.", "Ich bin 34.")),
        (("en", "de"), ("43 and 44", "43 und 44")),
        (("en", "de"), ("It is 15:30.", "Es ist 15:30 Uhr.")),
        (("en", "de"), ("On May 25", "Am 25. Mai")),
        (("en", "de"), ("25 million people", "25 Millionen Menschen")),
        (("en", "de"), ("A 43-year-old man", "Ein 43-jähriger Mann")),
        (("zh", "en"), ("八十年代的音乐", "music of the eighties")),
        (("zh", "en"), ("三百二十五人", "25 people")),
        (("zh-TW", "en"), ("四十三個人", "forty-three people")),
    ],
)
def test_numbers_with_limits_of_their_own_and_parts_of_numbers_stay(
    languages: tuple[str, str], pair: tuple[str, str]
) -> None:
    assert number_gaps([pair], languages) == []


def test_both_sides_get_the_same_number_and_digits_stay_digits() -> None:
    everything = made(ENGLISH_GERMAN, ("en", "de"))
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
