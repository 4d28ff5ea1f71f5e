"""Laws of the pairs that are made from a corpus's pairs: both sides carry the same placeholders,
tags, numbers or names, and the rest of the text."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from model.text.spans import Span
from model.text.tokenizer import Tokenizer
from model.training.anchors import Anchor, Pair
from model.training.augmentation import augment
from model.training.data import BatchMaker, tokenize_corpora
from model.training.markup import with_placeholders, with_tags
from model.training.recipe import AugmentationTable, CorpusTable, DataTable
from model.training.substitution import (
    name_gaps,
    number_gaps,
    with_another_name,
    with_another_number,
)

PAIRS = [
    ("Where is Tom?", "Wo ist Tom?"),
    ("He is 25 years old.", "Er ist 25 Jahre alt."),
    ("How sad!", "Wie schade!"),
    ("The library is open.", "Die Bibliothek ist offen."),
]
PLACEHOLDER, TAG = re.compile(r"⟦(\d+)⟧"), re.compile(r"⟦<(/?)(\d+)(/?)>⟧")
MARKED: list[Pair] = [
    ("Tom bought 25 apples.", "Tom kaufte 25 Äpfel."),
    ("See https://a.org/x, or write to li@b.cn.", "请看 https://a.org/x，或写信给li@b.cn。"),
    ("Where is it?", "它在哪里？"),
    ("", ""),
]
ENGLISH_GERMAN = ("I am forty-three years old.", "Ich bin dreiundvierzig Jahre alt.")
CHINESE = [("图书馆在哪里？", "Where is the library?"), ("天气很好。", "The weather is fine.")]


def test_placeholders_and_tags_are_made_from_the_anchors_of_the_pair() -> None:
    pair = ("The green library", "Die grüne Bibliothek")
    anchor = Anchor(Span(10, 17), Span(10, 20))
    table = AugmentationTable(placeholders=100, tags=100)
    everything = [m.pair for m in augment([pair], table, 16, lambda _: [anchor])]
    assert len(everything) == 200
    without = {tuple(re.sub("⟦[^⟧]*⟧", "*", side) for side in made) for made in everything}
    assert {("The green *", "Die grüne *"), ("The green *library*", "Die grüne *Bibliothek*")} <= (
        without
    )


TEA = ("Tea or coffee, please!", "Tee oder Kaffee, bitte!")
TEA_ANCHORS = [Anchor(Span(0, 3), Span(0, 3)), Anchor(Span(7, 13), Span(9, 15))]


def test_signs_stand_at_the_same_words_on_both_sides() -> None:
    """Word for word, and sign for sign, one side is the other."""
    dictionary = {"tea": "tee", "or": "oder", "coffee": "kaffee", "please": "bitte"}
    made = augment([TEA], AugmentationTable(signs=300), 0, lambda _: TEA_ANCHORS)
    for (first, second), sides in made:
        assert re.sub(r"\w+", lambda word: dictionary[word[0].lower()], first) == second.lower()
        assert sides == (0, 1)
    firsts = {one.pair[0] for one in made}
    assert {"Tea/coffee", "Tea/coffee or coffee, please!", "[Tea] or coffee, please!"} <= firsts


def test_capitals_are_those_of_the_same_words_and_no_target_of_a_side_without_cases() -> None:
    made = augment([TEA], AugmentationTable(capitals=100), 0, lambda _: TEA_ANCHORS)
    assert (("TEA or coffee, please!", "TEE oder Kaffee, bitte!"), (0, 1)) in made
    assert (("COFFEE: Tea or coffee, please!", "KAFFEE: Tee oder Kaffee, bitte!"), (0, 1)) in made
    anchors = [Anchor(Span(0, 3), Span(5, 12))]
    shout = augment([CHINESE[0]], AugmentationTable(capitals=50), 0, lambda _: anchors)
    assert all(sides == (1,) for (first, _), sides in shout if first == CHINESE[0][0])


def test_the_seed_alone_decides_what_is_made() -> None:
    table = AugmentationTable(cased=9, copied=9, joined=9, kept=9, short=9)
    assert augment(PAIRS, table) == augment(PAIRS, table)
    assert augment(PAIRS, table) != augment(PAIRS, AugmentationTable(9, 9, 9, 9, 9, seed=2))


@pytest.mark.parametrize("is_one_way", [False, True])
def test_only_the_training_split_is_augmented_and_only_in_allowed_directions(
    tmp_path: Path, tiny_tokenizer: Tokenizer, is_one_way: bool
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join("\t".join(pair) for pair in CHINESE) + "\n", encoding="utf-8")
    data = DataTable(
        languages=("zh", "en"),
        corpora=(CorpusTable("some", train=path, dev=path),),
        augmentation=AugmentationTable(cased=10.0),
        is_one_way=is_one_way,
    )
    assert sum(map(len, tokenize_corpora(data, tiny_tokenizer, "dev"))) == 2
    corpora = tokenize_corpora(data, tiny_tokenizer, "train")
    assert 2 < sum(map(len, corpora)) <= 22
    batches = BatchMaker(corpora, data.languages, tiny_tokenizer, 500).epoch(1, 0)
    sources = {int(side) for batch in batches for side in batch.source_side}
    assert sources == ({0} if is_one_way else {0, 1})


def anchor(pair: Pair, first: str, second: str) -> Anchor:
    starts = pair[0].index(first), pair[1].index(second)
    return Anchor(Span(starts[0], starts[0] + len(first)), Span(starts[1], starts[1] + len(second)))


@pytest.mark.parametrize("pair", MARKED)
def test_both_sides_have_the_same_placeholders_each_once(pair: Pair) -> None:
    for seed in range(40):
        made = with_placeholders(pair, [], 16, random.Random(seed))
        first, second = (PLACEHOLDER.findall(side) for side in made)
        assert first
        assert sorted(first) == sorted(second)
        assert max(Counter(first).values()) == 1
        assert all(0 <= int(number) < 16 for number in first)


@pytest.mark.parametrize("pair", MARKED)
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
    ],
)
def test_a_thing_that_both_sides_name_gives_way_to_another_of_its_kind(
    languages: Pair, frames: Pair, names: Pair, others: Pair
) -> None:
    def framed(pair: Pair) -> Pair:
        return frames[0].format(pair[0]), frames[1].format(pair[1])

    (gap,) = name_gaps([framed(names)], languages)
    rng = random.Random(1)
    everything = [with_another_name(gap, rng) for _ in range(900)]
    assert framed(others) in everything
    assert others in everything
