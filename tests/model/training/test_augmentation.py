"""Laws of the pairs that are made from a corpus's pairs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from model.text.spans import Span
from model.text.tokenizer import Tokenizer
from model.training.alignment import Anchor
from model.training.augmentation import MadePair, augment
from model.training.data import BatchMaker, tokenize_corpora
from model.training.recipe import AugmentationTable, CorpusTable, DataTable

PAIRS = [
    ("Where is Tom?", "Wo ist Tom?"),
    ("He is 25 years old.", "Er ist 25 Jahre alt."),
    ("How sad!", "Wie schade!"),
    ("The library is open.", "Die Bibliothek ist offen."),
]
CHINESE = [("图书馆在哪里？", "Where is the library?"), ("天气很好。", "The weather is fine.")]


def made(pairs: list[tuple[str, str]], **shares: float) -> list[MadePair]:
    return augment(pairs, AugmentationTable(**shares))


def test_as_many_pairs_of_each_kind_are_made_as_the_shares_say() -> None:
    assert len(made(PAIRS * 25, cased=0.1, copied=0.2, joined=0.03, kept=0.5, short=2.0)) == 183
    assert made(PAIRS) == []
    assert made([], cased=1.0) == []


def test_pairs_without_final_marks_have_none_on_either_side() -> None:
    originals = {tuple(side.rstrip(".!?。？") for side in pair) for pair in PAIRS + CHINESE}
    assert {m.pair for m in made(PAIRS + CHINESE, unmarked=20)} == originals
    assert all(m.source_sides == (0, 1) for m in made(PAIRS, unmarked=1))


def test_items_of_lists_begin_alike_on_both_sides() -> None:
    everything = made(PAIRS, listed=50)
    for (first, second), sides in everything:
        mark, _, item = first.partition(" ")
        assert re.fullmatch(r"[-*•]|\d+\.|[a-h]\)", mark)
        assert second.startswith(f"{mark} ")
        assert any(pair[0].startswith(item) for pair in PAIRS)
        assert sides == (0, 1)
    assert {first[0] for (first, _), _ in everything} >= {"-", "*", "•"}


def test_braces_in_an_item_are_no_field() -> None:
    assert all(m.pair[0].endswith("{0} {name} {") for m in made([("{0} {name} {", "}")], listed=20))


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


def test_numbers_are_a_share_of_the_pairs_that_have_one() -> None:
    pairs = [*CHINESE, ("汤姆二十五岁。", "Tom is twenty-five.")]
    table = AugmentationTable(numbers=30.0)
    everything = augment(pairs, table, languages=("zh", "en"))
    assert len(everything) == 30
    assert sum("汤姆" in m.pair[0] and "二十五" not in m.pair[0] for m in everything) >= 25
    assert augment(pairs, table) == []
    assert augment(CHINESE, table, languages=("zh", "en")) == []


def test_the_seed_alone_decides_what_is_made() -> None:
    table = AugmentationTable(cased=9, copied=9, joined=9, kept=9, short=9)
    assert augment(PAIRS, table) == augment(PAIRS, table)
    assert augment(PAIRS, table) != augment(PAIRS, AugmentationTable(9, 9, 9, 9, 9, seed=2))


def test_a_careless_source_has_a_careful_target() -> None:
    originals = {side for pair in PAIRS for side in pair}
    one_way = [m for m in made(PAIRS, cased=50) if len(m.source_sides) == 1]
    assert len(one_way) > 50
    for pair, (side,) in one_way:
        assert pair[1 - side] in originals
        assert pair[side] not in originals


def test_upper_case_is_answered_by_upper_case_where_there_is_one() -> None:
    both_ways = [m.pair for m in made(PAIRS, cased=50) if m.source_sides == (0, 1)]
    assert all(side.isupper() for pair in both_ways for side in pair)
    assert all(len(m.source_sides) == 1 for m in made(CHINESE, cased=50))


def test_short_pairs_are_shown_with_and_without_final_marks_and_careless_sources() -> None:
    pairs = [*PAIRS, *CHINESE, ("你好！", "Hello!"), ("他的父亲昨天不在", "His father")]
    everything = made(pairs, short=50)
    assert {tuple(text.strip(".!?！？。").lower() for text in m.pair) for m in everything} == {
        ("where is tom", "wo ist tom"),
        ("how sad", "wie schade"),
        ("你好", "hello"),
    }
    greetings = {m for m in everything if m.pair[0].startswith("你好")}
    assert greetings == {
        MadePair(("你好！", "Hello!"), (0, 1)),
        MadePair(("你好", "Hello"), (0, 1)),
        MadePair(("你好", "Hello"), (0,)),
        MadePair(("你好", "hello"), (1,)),
    }


def test_what_recurs_before_commas_on_both_sides_is_a_short_pair_too() -> None:
    pairs = [
        ("Yes, I know where the library is.", "是的，我知道图书馆在哪里。"),
        ("Yes, he lived there for many years.", "是的，他在那里住了很多年。"),
        ("Well, that is another question entirely.", "那么，这完全是另外一个问题。"),
        ("“No, I never said that to anybody.”", "“不，我从来没对任何人说过这句话。”"),
        ("“No, we never lived in that house.”", "“不，我们从来没在那所房子里住过。”"),
    ]
    assert {m.pair for m in made(pairs, short=20)} == {("Yes", "是的"), ("yes", "是的")}


def test_an_opening_that_is_a_sentence_elsewhere_is_a_short_pair() -> None:
    opening, sentence = ("Hello, all of you.", "你好，各位。"), ("Hello!", "你好！")
    assert made([opening], short=20) == []
    shown = Counter(m.pair[0].lower() for m in made([opening, sentence], short=200))
    assert shown.keys() == {"hello!", "hello"}
    assert shown["hello"] > 3 * shown["hello!"]


def test_openings_are_shown_alike_however_many_sentences_begin_with_them() -> None:
    often = [(f"Well, where is house number {n}?", f"嗯，{n}号那座房子在哪儿？") for n in range(40)]
    twice = [(f"Hello, is your house number {n}?", f"你好，你的房子是{n}号吗？") for n in (1, 2)]
    shown = Counter(m.pair[0].lower() for m in made(often + twice, short=400))
    assert sum(shown.values()) == 800
    assert shown["well"] == pytest.approx(shown["hello"], abs=100)


def test_where_nothing_is_short_nothing_short_is_made() -> None:
    assert made(PAIRS[1:2], short=9.0) == []


def test_what_is_copied_stands_on_both_sides() -> None:
    """Without the words that the originals have, both sides are the same."""
    for pair, sides in made(PAIRS, copied=100):  # a number may come out as it was
        left, right = (
            _new_words(side, original) for side, original in zip(pair, (0, 1), strict=True)
        )
        assert left == right
        assert left or "25" in pair[0]
        assert sides == (0, 1)


def _new_words(text: str, side: int) -> list[str]:
    old = {word for pair in PAIRS for word in re.findall(r"\w+", pair[side])}
    return [word for word in re.findall(r"\w+|[^\w\s.?!:]", text) if word not in old]


def test_joined_sentences_keep_their_order_on_both_sides() -> None:
    for pair, _ in made(CHINESE, joined=20):
        chinese = [CHINESE.index((zh, en)) for zh, en in CHINESE if zh in pair[0]]
        assert chinese
        order = [i for i in re.findall("图书馆|天气", pair[0])]
        assert [
            {"library": "图书馆", "weather": "天气"}[i]
            for i in re.findall("library|weather", pair[1])
        ] == order
        assert " " not in pair[0]


def test_lines_that_are_kept_are_the_same_on_both_sides() -> None:
    assert all(m.pair[0] == m.pair[1] and m.pair[0] for m in made(PAIRS, kept=30))


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
