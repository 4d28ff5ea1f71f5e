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


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("Call 030-123 now", "Ruf jetzt 030-123 an"), {"030-123"}),
        (("%s files in {dir}", "{dir} 里有 %s 个文件"), {"%s", "{dir}"}),
        (("Use `ls -l` on ${HOME}", "在 ${HOME} 里用 `ls -l`"), {"`ls -l`", "${HOME}"}),
        (("<b>Bold</b>", "<b>粗体</b>"), {"<b>", "</b>"}),
        (("os.path.join() joins", "os.path.join() 连接"), {"os.path.join()"}),
        (('It says "OK" twice', 'Da steht "OK" zweimal'), {'"OK"'}),
        (("Größe of Zürich", "Die Größe von Zürich"), {"Größe", "Zürich"}),
        (("使用Git提交", "Commit with Git"), {"Git"}),
        (("2 and 2", "2 und 2"), set()),
        (("Tom is 5", "Er ist fünf"), set()),
        (("127", "27"), set()),
    ],
)
def test_what_stands_once_on_both_sides_is_found(pair: Pair, expected: set[str]) -> None:
    assert shared(pair) == expected


@pytest.mark.parametrize("pair", PAIRS)
def test_both_sides_have_the_same_placeholders_each_once(pair: Pair) -> None:
    for seed in range(200):
        made = with_placeholders(pair, [], 16, random.Random(seed))
        first, second = (PLACEHOLDER.findall(side) for side in made)
        assert first
        assert sorted(first) == sorted(second)
        assert max(Counter(first).values()) == 1
        assert all(0 <= int(number) < 16 for number in first)


@pytest.mark.parametrize("pair", PAIRS)
def test_without_its_tags_a_pair_is_what_it_was(pair: Pair) -> None:
    for seed in range(200):
        made = with_tags(pair, [], 16, random.Random(seed))
        assert (TAG.sub("", made[0]), TAG.sub("", made[1])) == pair
        first, second = (TAG.findall(side) for side in made)
        assert first
        assert sorted(first) == sorted(second)


def test_tags_are_nested_as_they_are_opened() -> None:
    pair = ("Old Tom met young Anna here.", "Here old Tom met young Anna.")
    for seed in range(300):
        for side in with_tags(pair, [anchor(pair, "met", "met")], 16, random.Random(seed)):
            open_tags: list[str] = []
            for closing, number, empty in TAG.findall(side):
                if closing:
                    assert open_tags.pop() == number
                elif not empty:
                    open_tags.append(number)
            assert open_tags == []


def test_anchors_are_replaced_on_both_sides() -> None:
    pair = ("A green tree.", "Ein grüner Baum.")
    anchors = [anchor(pair, "tree", "Baum"), anchor(pair, "green", "grüner")]
    made = {
        tuple(PLACEHOLDER.sub("*", side) for side in with_placeholders(pair, anchors, 16, rng))
        for rng in map(random.Random, range(300))
    }
    assert {
        ("A * tree.", "Ein * Baum."),
        ("A green *.", "Ein grüner *."),
        ("A * *.", "Ein * *."),
    } <= made


def test_near_words_are_wrapped_as_a_phrase_and_far_ones_are_not() -> None:
    pair = ("A green tree stands beside the old and very long river.", "河边绿树老")
    anchors = [
        anchor(pair, "green", "绿"),
        anchor(pair, "tree", "树"),
        anchor(pair, "old", "老"),
    ]
    wrapped = {
        re.sub(r"<?/?\d+>?", "", span)
        for rng in map(random.Random, range(300))
        for span in re.findall(r"⟦<\d+>⟧([^⟦]*)⟦</", with_tags(pair, anchors, 16, rng)[0])
    }
    assert "green tree" in wrapped
    assert not any("stands" in span for span in wrapped if span != pair[0])


def test_many_numbers_occur_and_not_only_the_lowest() -> None:
    made = [with_placeholders(PAIRS[0], [], 16, random.Random(seed)) for seed in range(400)]
    numbers = Counter(int(n) for pair in made for n in PLACEHOLDER.findall(pair[0]))
    assert set(numbers) == set(range(16))
    assert numbers[0] > 2 * numbers[9]


def test_the_random_numbers_alone_decide() -> None:
    assert with_tags(PAIRS[0], [], 16, random.Random(5)) == with_tags(
        PAIRS[0], [], 16, random.Random(5)
    )
