"""Reading, sampling and batching parallel text."""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from model.training.data import (
    BatchMaker,
    Examples,
    TokenizedCorpus,
    TokenLists,
    pad,
    read_pairs,
    tokenize_corpora,
)
from model.training.recipe import (
    AugmentationTable,
    CorpusTable,
    DataTable,
    Recipe,
    RecipeError,
    TermsTable,
    TokenizerTable,
)
from model.training.setup import train_tokenizer

MakeRecipe = Callable[..., Recipe]

Seen = Counter[tuple[int, int, int]]


def corpus(lengths: list[tuple[int, int]], weight: float = 1.0) -> TokenizedCorpus:
    """Pair i holds the token 10 + i on the first side and 1010 + i on the second."""
    first = TokenLists([[10 + i] * a for i, (a, _) in enumerate(lengths)])
    second = TokenLists([[1010 + i] * b for i, (_, b) in enumerate(lengths)])
    return TokenizedCorpus("made up", weight, (first, second))


def count(batches: list[Examples]) -> Seen:
    """How often each (corpus, pair, source side) occurs in the batches."""
    return Counter(
        (int(c), int(p), int(s)) for batch in batches for c, p, s in zip(*batch, strict=True)
    )


def contents(batches: list[Examples]) -> list[list[list[int]]]:
    return [[column.tolist() for column in batch] for batch in batches]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_pairs_are_read_plain_or_compressed(tmp_path: Path, name: str) -> None:
    data = "你好\thello\n茶\ttea\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read_pairs(tmp_path / name) == [("你好", "hello"), ("茶", "tea")]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_a_byte_order_mark_before_a_corpus_is_dropped(tmp_path: Path, name: str) -> None:
    data = BOM_UTF8 + "你好\thello\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read_pairs(tmp_path / name) == [("你好", "hello")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a\tb\nonly one\n", "line 2: expected 2 columns separated by a tab, got 1"),
        (b"a\tb\tc\n", "line 1: expected 2 columns separated by a tab, got 3"),
        (b"a\tb\n\n", "line 2: expected 2 columns separated by a tab, got 1"),
        (b"a\tb\n" + b"c" * 10_000_000 + b"\td\n", "line 2: longer than 1000000 characters"),
        (b"a" * 1_000_002, "line 1: longer than 1000000 characters"),
        (b"\xff\tb\n", "cannot read the corpus .*bad.tsv.*utf-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "bad.tsv").write_bytes(text)
    with pytest.raises(RecipeError, match=said):
        read_pairs(tmp_path / "bad.tsv")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (b"a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
        (b"a\tb", [("a", "b")]),
        (b"", []),
        (b"a\0b\tc\n", [("a\0b", "c")]),
        ("a\u2028b\x85\tc\n".encode(), [("a\u2028b\x85", "c")]),
        (b"\t\n", [("", "")]),
        (b"a" * 999_998 + b"\tb\n", [("a" * 999_998, "b")]),
    ],
    ids=["CRLF", "no end", "empty", "NUL", "other line ends", "empty columns", "long"],
)
def test_odd_lines_are_read_as_they_are(
    tmp_path: Path, text: bytes, pairs: list[tuple[str, str]]
) -> None:
    (tmp_path / "odd.tsv").write_bytes(text)
    assert read_pairs(tmp_path / "odd.tsv") == pairs


def test_an_archive_that_inflates_without_end_is_refused_at_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "bomb.tsv.gz").write_bytes(gzip.compress(bytes(2**26)) * 20)
    with pytest.raises(RecipeError, match="line 1: longer than 1000000 characters"):
        read_pairs(tmp_path / "bomb.tsv.gz")


@pytest.mark.parametrize("damage", ["missing", "not gzip", "truncated", "garbled"])
def test_a_damaged_archive_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "bad.tsv.gz"
    whole = gzip.compress("".join(f"{i * 7919}\t{i * 104729}\n" for i in range(3000)).encode())
    middle = whole[:200] + b"\xff" * 200 + whole[400:]
    damaged = {"not gzip": b"a\tb\n", "truncated": whole[:-50], "garbled": middle}
    if damage in damaged:
        path.write_bytes(damaged[damage])
    with pytest.raises(RecipeError, match="cannot read the corpus .*bad.tsv.gz"):
        read_pairs(path)


@given(lists=st.lists(st.lists(st.integers(0, 2**31 - 1))))
def test_token_lists_hold_what_they_were_given(lists: list[list[int]]) -> None:
    stored = TokenLists(lists)
    assert [stored[i].tolist() for i in range(len(lists))] == lists


def test_pairs_too_long_or_empty_are_left_out(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    pairs = ["茶\ttea", "\ttea", "茶\t", "茶\t" + "very " * 30, "猫\tcat"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{p}\n" for p in pairs), encoding="utf-8")
    data = DataTable(("zh", "en"), (CorpusTable("c", tmp_path / "pairs.tsv"),), max_tokens=20)
    (read,) = tokenize_corpora(data, tiny_tokenizer, "train")
    sides = [[tiny_tokenizer.decode(side[i].tolist()) for side in read.sides] for i in range(2)]
    assert (len(read), sides) == (2, [["茶", "tea"], ["猫", "cat"]])


def test_a_corpus_without_a_split_is_left_out_of_it(
    tiny_pairs: Path, tiny_tokenizer: Tokenizer
) -> None:
    data = DataTable(
        ("zh", "en"), (CorpusTable("a", tiny_pairs), CorpusTable("b", tiny_pairs, dev=tiny_pairs))
    )
    assert [c.name for c in tokenize_corpora(data, tiny_tokenizer, "dev")] == ["b"]


def test_of_a_corpus_of_small_weight_only_what_a_few_epochs_take_is_kept(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    lines = "".join(f"茶{n}\ttea {n}\n" for n in range(400))
    (tmp_path / "many.tsv").write_text(lines, encoding="utf-8")
    corpora = tuple(CorpusTable(str(w), tmp_path / "many.tsv", weight=w) for w in (0.05, 0.25, 3.0))
    data = DataTable(("zh", "en"), corpora)
    kept = tokenize_corpora(data, tiny_tokenizer, "train")
    assert [(len(c), c.weight) for c in kept] == [(80, 0.25), (400, 0.25), (400, 3.0)]
    again = tokenize_corpora(data, tiny_tokenizer, "train")
    other = replace(data, augmentation=AugmentationTable(seed=2))
    different = tokenize_corpora(other, tiny_tokenizer, "train")
    texts = [[c[0].sides[0][i].tolist() for i in range(80)] for c in (kept, again, different)]
    assert texts[0] == texts[1] != texts[2]


def test_no_pair_of_a_corpus_that_is_only_measured_on_is_left_out(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    (tmp_path / "dev.tsv").write_text("茶\ttea\n" * 40, encoding="utf-8")
    data = DataTable(("zh", "en"), (CorpusTable("c", dev=tmp_path / "dev.tsv", weight=0.05),))
    assert [len(c) for c in tokenize_corpora(data, tiny_tokenizer, "dev")] == [40]


@pytest.mark.parametrize("kind", ["placeholders", "tags"])
def test_made_pairs_carry_reserved_pieces_whole(
    tmp_path: Path, tiny_pairs: Path, make_recipe: MakeRecipe, kind: str
) -> None:
    table = TokenizerTable(vocab_size=514, reserved_pieces=16)
    model = tmp_path / "reserving.model"
    train_tokenizer(replace(make_recipe(), tokenizer=table), model)
    config = TokenizerConfig(model.name, model.name, reserved=16)
    tokenizer = Tokenizer(model, model, config)
    corpora = (CorpusTable("tiny", tiny_pairs),)
    augmentation = replace(AugmentationTable(), **{kind: 1.0})
    data = DataTable(("zh", "en"), corpora, augmentation=augmentation)
    (corpus,) = tokenize_corpora(data, tokenizer, "train")
    reserved = {i for i, piece in enumerate(tokenizer.target_pieces) if piece.startswith("⟦")}
    sides = [
        [reserved & set(side[i].tolist()) for i in range(len(corpus))] for side in corpus.sides
    ]
    assert sides[0] == sides[1]
    assert sum(map(bool, sides[0])) == len(read_pairs(tiny_pairs))


VERBS = {"sees": "sieht", "paints": "malt", "likes": "mag", "knows": "kennt"}
NOUNS = {"house": "Haus", "tree": "Baum", "river": "Fluss"}


def with_terms(directory: Path, **changes: bool) -> DataTable:
    """A corpus of four verbs and three nouns of weight 0.01, and terms of weight 3."""
    lines = [f"he {v} {n}\ter {VERBS[v]} {NOUNS[n]}\n" for v in VERBS for n in NOUNS]
    (directory / "few.tsv").write_text("".join(lines), encoding="utf-8")
    corpus = CorpusTable("few", directory / "few.tsv", directory / "few.tsv", weight=0.01)
    terms = TermsTable(weight=3.0, contexts=1)
    return DataTable(("en", "de"), (replace(corpus, **changes),), terms=terms)


def test_terms_are_one_more_corpus_of_a_weight_of_its_own(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    """They are searched before a corpus of small weight is cut."""
    few, *terms = tokenize_corpora(with_terms(tmp_path), tiny_tokenizer, "train")
    assert (few.name, len(few), {(c.name, c.weight) for c in terms}) == ("few", 0, {("terms", 3.0)})
    texts = [
        tuple(tiny_tokenizer.decode(side[i].tolist()) for side in corpus.sides)
        for corpus in terms
        for i in range(len(corpus))
    ]
    assert ("river", "Fluss") in texts
    assert sum("river" in first and " " in first for first, _ in texts) >= 1


def test_terms_of_a_recipe_of_one_direction_are_learned_in_it(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    data = replace(with_terms(tmp_path), is_one_way=True)
    assert {c.source_sides for c in tokenize_corpora(data, tiny_tokenizer, "train")} == {(0,)}


def test_there_are_no_terms_of_other_splits_nor_of_corpora_that_have_none(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    dev = tokenize_corpora(with_terms(tmp_path), tiny_tokenizer, "dev")
    assert [c.name for c in dev] == ["few"]
    train = tokenize_corpora(with_terms(tmp_path, has_terms=False), tiny_tokenizer, "train")
    assert [c.name for c in train] == ["few"]


def test_an_epochs_batches_depend_only_on_seed_and_epoch(tiny_tokenizer: Tokenizer) -> None:
    corpora = [corpus([(i % 9 + 1, i % 7 + 1) for i in range(200)], weight=1.5)]
    one = BatchMaker(corpora, ("zh", "en"), tiny_tokenizer, 100)
    other = BatchMaker(corpora, ("zh", "en"), tiny_tokenizer, 100)
    other.epoch(seed=8, epoch=1)
    assert contents(one.epoch(5, 2)) == contents(other.epoch(5, 2))
    assert contents(one.epoch(5, 2)) != contents(one.epoch(5, 3))
    assert contents(one.epoch(5, 2)) != contents(one.epoch(6, 2))


@pytest.mark.parametrize(
    ("weight", "least", "in_all"), [(1.0, 1, 40), (2.5, 2, 100), (0.25, 0, 10)]
)
def test_weights_say_how_often_each_direction_of_a_pair_occurs(
    tiny_tokenizer: Tokenizer, weight: float, least: int, in_all: int
) -> None:
    corpora = [corpus([(3, 3)] * 40, weight), corpus([(3, 3)] * 5)]
    seen = count(BatchMaker(corpora, ("zh", "en"), tiny_tokenizer, 100).epoch(1, 0))
    for side in (0, 1):
        times = [seen[0, pair, side] for pair in range(40)]
        assert sum(times) == in_all
        assert set(times) <= {least, least + 1}
        assert [seen[1, pair, side] for pair in range(5)] == [1] * 5


lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60)


@settings(deadline=None)
@given(lengths=lengths, batch_tokens=st.integers(32, 200), epoch=st.integers(0, 3))
def test_every_batch_fits_and_nothing_is_lost(
    tiny_tokenizer: Tokenizer, lengths: list[tuple[int, int]], batch_tokens: int, epoch: int
) -> None:
    maker = BatchMaker([corpus(lengths)], ("zh", "en"), tiny_tokenizer, batch_tokens)
    batches = maker.epoch(1, epoch)
    for examples in batches:
        batch = maker.collate(examples)
        assert max(batch.src.numel(), batch.tgt_in.numel()) <= batch_tokens
    assert count(batches) == Counter((0, i, side) for i in range(len(lengths)) for side in (0, 1))


def test_everything_is_each_pair_once_in_one_direction(tiny_tokenizer: Tokenizer) -> None:
    corpora = [corpus([(2, 2)] * 3), corpus([(3, 3)] * 9, weight=4.0)]
    maker = BatchMaker(corpora, ("zh", "en"), tiny_tokenizer, 20)
    assert count(maker.everything(1, 0)) == Counter((1, pair, 0) for pair in range(9))


def test_a_collated_batch_has_tag_bos_and_eos_in_their_places(tiny_tokenizer: Tokenizer) -> None:
    maker = BatchMaker([corpus([(2, 1), (1, 3)])], ("zh", "en"), tiny_tokenizer, 100)
    zh, en = tiny_tokenizer.tag_id("zh"), tiny_tokenizer.tag_id("en")
    chosen = Examples(np.array([0, 0, 0]), np.array([0, 1, 0]), np.array([0, 0, 1]))
    batch = maker.collate(chosen)
    assert batch.src.tolist() == [[en, 10, 10, 3], [en, 11, 3, 0], [zh, 1010, 3, 0]]
    assert batch.tgt_in.tolist() == [[2, 1010, 3, 0], [2, 1011, 1011, 1011], [2, 10, 10, 3]]
    assert batch.tgt_out.tolist() == [[1010, 3, 0, 0], [1011, 1011, 1011, 3], [10, 10, 3, 0]]


def test_padding_is_on_the_right() -> None:
    assert pad([[5], [6, 7, 8]], 0).tolist() == [[5, 0, 0], [6, 7, 8]]
