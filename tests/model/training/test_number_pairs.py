"""Pairs with another number: which numbers are found, and what takes their place."""

from __future__ import annotations

import random

import pytest

from model.training.substitution import digits, number_gaps, with_another_number, words

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
        (("en", "de"), ("I am 43.", "Ich bin 43.")),
        (("en", "de"), ("I am 43 years old.", "Ich bin dreiundvierzig Jahre alt.")),
        (("de", "en"), ("Siebzig Leute", "Seventy people")),
        (("en", "de"), ("It may take 43 days.", "Es kann 43 Tage dauern.")),
        (("zh", "en"), CHINESE_ENGLISH),
        (("zh-Hans", "en"), ("我等了十五分钟。", "I waited for 15 minutes.")),
        (("en", "zh"), ("There are 99 of them.", "共有 99 个。")),
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
        (("en", "de"), ("Twelve eggs", "Zwölf Eier")),
        (("en", "de"), ("1943 was long ago.", "1943 ist lange her.")),
        (("en", "de"), ("43 and 44", "43 und 44")),
        (("en", "de"), ("It is 15:30.", "Es ist 15:30 Uhr.")),
        (("en", "de"), ("At 15 o'clock", "Um 15 Uhr")),
        (("en", "de"), ("On May 25", "Am 25. Mai")),
        (("en", "de"), ("25 percent of it", "25 Prozent davon")),
        (("en", "de"), ("25 million people", "25 Millionen Menschen")),
        (("en", "de"), ("It costs 25.50.", "Es kostet 25,50.")),
        (("en", "de"), ("A 43-year-old man", "Ein 43-jähriger Mann")),
        (("en", "de"), ("the 15 th century", "das 15 Jahrhundert")),
        (("zh", "en"), ("五月二十五日", "May twenty-five")),
        (("zh", "en"), ("八十年代的音乐", "music of the eighties")),
        (("zh", "en"), ("第二十五章", "Chapter 25")),
        (("zh", "en"), ("三百二十五人", "25 people")),
        (("zh", "en"), ("二十多个人", "20 people")),
        (("en", "tr"), ("I am 43.", "Ben 43.")),
        (("zh-TW", "en"), ("四十三個人", "forty-three people")),
        (("en", "de"), ("", "")),
    ],
)
def test_numbers_with_limits_of_their_own_and_parts_of_numbers_stay(
    languages: tuple[str, str], pair: tuple[str, str]
) -> None:
    assert number_gaps([pair], languages) == []


@pytest.mark.parametrize(
    ("number", "language", "spelled"),
    [
        (43, "en", "forty-three"),
        (43, "de", "dreiundvierzig"),
        (3512, "en", "three thousand five hundred and twelve"),
        (13, "zh", "十三"),
        (205, "zh", "二百零五"),
        (2000, "zh", "两千"),
        (35_000, "zh", "三万五千"),
        (1_200_000, "zh", "一百二十万"),
    ],
)
def test_numbers_are_spelled_as_the_language_does(number: int, language: str, spelled: str) -> None:
    assert words(number, language) == spelled


def test_long_numbers_have_the_groups_of_their_language() -> None:
    languages = ("en", "de", "zh")
    assert [digits(35_000, code) for code in languages] == ["35,000", "35.000", "35000"]
    assert [digits(3500, code) for code in languages] == ["3500"] * 3


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


def test_chinese_words_with_digits_are_read_in_that_direction_only() -> None:
    mixed = [
        (chinese, english, sides)
        for (chinese, english), sides in made(CHINESE_ENGLISH, ("zh", "en"))
        if english[5].isdigit() and not any(c.isdigit() for c in chinese)
    ]
    assert mixed
    assert all(sides == (0,) for _, _, sides in mixed)


def test_a_number_in_words_begins_a_sentence_with_a_capital() -> None:
    starts = {pair[0][0] for pair, _ in made(("Forty people", "Vierzig Leute"), ("en", "de"))}
    assert all(start.isdigit() or start.isupper() for start in starts)
    assert any(start.isupper() for start in starts)
