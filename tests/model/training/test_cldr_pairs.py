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
        (("en", "de"), ("I live in {}.", "Ich wohne in {}."), ("Rome", "Rom"), ("Oslo", "Oslo")),
        (
            ("de", "en"),
            ("Bis {}!", "See you on {}!"),
            ("Montag", "Monday"),
            ("Mittwoch", "Wednesday"),
        ),
        (("en-US", "de"), ("It is {}.", "Es ist {}."), ("May", "Mai"), ("March", "März")),
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


def test_a_fifth_of_the_pairs_is_two_names() -> None:
    everything = made(("Bis Montag!", "See you on Monday!"), ("de", "en"))
    days = set(kinds("de", "en")[3].names.values())
    assert len(days) == 7
    assert 120 < sum(pair in days for pair in everything) < 240


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("zh", "en"), ("我来自法国。", "I come from Germany.")),
        (("zh", "en"), ("从法国到德国", "from France to Germany")),
        (("zh", "en"), ("法国菜", "French food")),
        (("en", "de"), ("Mondays", "Montags")),
        (("en", "de"), ("You may go.", "Mai")),
        (("en", "de"), ("I come from Turkey.", "Ich komme aus der Türkei.")),
        (("zh", "en"), ("我住在美国。", "I live in the United States.")),
        (("en", "fr"), ("I come from France.", "Je viens de France.")),
        (("en", "xx"), ("Monday", "Monday")),
        (("zh-Hant", "en"), ("我來自日本。", "I come from Japan.")),
        (("en", "de"), ("", "")),
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
