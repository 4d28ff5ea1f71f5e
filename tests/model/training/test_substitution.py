"""Pairs with another number, country, language, city, weekday or month on both sides."""

from __future__ import annotations

import random

import pytest

from model.training.substitution import (
    LANGUAGES,
    kinds,
    name_gaps,
    number_gaps,
    with_another_name,
    with_another_number,
)

Pair = tuple[str, str]
ENGLISH_GERMAN = ("I am forty-three years old.", "Ich bin dreiundvierzig Jahre alt.")
CHINESE_ENGLISH = ("我今年四十三岁。", "I am forty-three years old.")


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "de"), ENGLISH_GERMAN),
        (("en", "de"), ("I am 43 years old.", "Ich bin dreiundvierzig Jahre alt.")),
        (("zh", "en"), CHINESE_ENGLISH),
        (("zh-Hans", "en"), ("我等了十五分钟。", "I waited for 15 minutes.")),
    ],
)
def test_a_number_that_both_sides_have_is_found(languages: Pair, pair: Pair) -> None:
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


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("zh", "en"), ("我来自法国。", "I come from Germany.")),
        (("en", "de"), ("Mondays", "Montags")),
        (("en", "de"), ("You may go.", "Mai")),
        (("en", "de"), ("I come from Turkey.", "Ich komme aus der Türkei.")),
        (("zh-Hant", "en"), ("我來自日本。", "I come from Japan.")),
    ],
)
def test_parts_of_words_and_names_with_articles_stay(languages: Pair, pair: Pair) -> None:
    assert name_gaps([pair], languages) == []


@pytest.mark.parametrize("first", LANGUAGES)
def test_every_name_is_a_plain_one_and_stands_once_in_its_kind(first: str) -> None:
    for second in LANGUAGES:
        for kind in kinds(first, second):
            assert len(kind.names) >= 7
            for side in zip(*kind.names.values(), strict=True):
                assert len(set(side)) == len(side)
                assert not any(set("()（）&_/") & set(name) for name in side)
