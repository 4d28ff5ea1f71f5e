"""Pairs with another country, language, city, weekday or month."""

from __future__ import annotations

import random

import pytest

from model.training.substitution import LANGUAGES, kinds, name_gaps, with_another_name

Pair = tuple[str, str]


def made(pair: Pair, languages: Pair) -> list[Pair]:
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

    everything = made(framed(names), languages)
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
