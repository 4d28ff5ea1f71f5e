"""Made pairs carry the same placeholders and tags on both sides, and the rest of the text."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from model.text.spans import Span
from model.training.alignment import Anchor, Pair
from model.training.markup import verbatim, with_placeholders, with_tags

PLACEHOLDER, TAG = re.compile(r"⟦(\d+)⟧"), re.compile(r"⟦<(/?)(\d+)(/?)>⟧")
PAIRS: list[Pair] = [
    ("Tom bought 25 apples.", "Tom kaufte 25 Äpfel."),
    ("See https://a.org/x, or write to li@b.cn.", "请看 https://a.org/x，或写信给li@b.cn。"),
    ("Where is it?", "它在哪里？"),
    ("", ""),
]


def anchor(pair: Pair, first: str, second: str) -> Anchor:
    starts = pair[0].index(first), pair[1].index(second)
    return Anchor(Span(starts[0], starts[0] + len(first)), Span(starts[1], starts[1] + len(second)))


def shared(pair: Pair) -> set[str]:
    return {pair[0][a.first.start : a.first.end] for a in verbatim(pair)}


@pytest.mark.parametrize("pair", PAIRS)
def test_both_sides_have_the_same_placeholders_each_once(pair: Pair) -> None:
    for seed in range(40):
        made = with_placeholders(pair, [], 16, random.Random(seed))
        first, second = (PLACEHOLDER.findall(side) for side in made)
        assert first
        assert sorted(first) == sorted(second)
        assert max(Counter(first).values()) == 1
        assert all(0 <= int(number) < 16 for number in first)


@pytest.mark.parametrize("pair", PAIRS)
def test_without_its_tags_a_pair_is_what_it_was(pair: Pair) -> None:
    for seed in range(40):
        made = with_tags(pair, [], 16, random.Random(seed))
        assert (TAG.sub("", made[0]), TAG.sub("", made[1])) == pair
        first, second = (TAG.findall(side) for side in made)
        assert first
        assert sorted(first) == sorted(second)


def test_tags_are_nested_as_they_are_opened() -> None:
    pair = ("Old Tom met young Anna here.", "Here old Tom met young Anna.")
    for seed in range(60):
        for side in with_tags(pair, [anchor(pair, "met", "met")], 16, random.Random(seed)):
            open_tags: list[str] = []
            for closing, number, empty in TAG.findall(side):
                if closing:
                    assert open_tags.pop() == number
                elif not empty:
                    open_tags.append(number)
            assert open_tags == []
