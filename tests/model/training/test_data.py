"""Reading, sampling and batching parallel text."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer
from model.training.data import (
    BatchMaker,
    Examples,
    TokenizedCorpus,
    TokenLists,
    computed_ahead,
    read_pairs,
    tokenize_corpora,
)
from model.training.recipe import (
    AugmentationTable,
    CorpusTable,
    DataTable,
    RecipeError,
    TermsTable,
)

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
def test_pairs_are_read_plain_or_compressed_as_they_are(tmp_path: Path, name: str) -> None:
    data = "你好\thello\r\na\0b\u2028c\x85\td\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert read_pairs(tmp_path / name) == [("你好", "hello"), ("a\0b\u2028c\x85", "d")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a\tb\nonly one\n", "line 2: expected 2 columns separated by a tab, got 1"),
        (b"a\tb\n" + b"c" * 10_000_000 + b"\td\n", "line 2: longer than 1000000 characters"),
        (b"\xff\tb\n", "cannot read the corpus .*bad.tsv.*utf-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "bad.tsv").write_bytes(text)
    with pytest.raises(RecipeError, match=said):
        read_pairs(tmp_path / "bad.tsv")


def test_a_corpus_that_is_missing_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    with pytest.raises(RecipeError, match=f"^cannot read the corpus {path}: No such file[^/]*$"):
        read_pairs(path)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv.gz"
    whole = gzip.compress("".join(f"{i * 7919}\t{i * 104729}\n" for i in range(3000)).encode())
    for damaged in (whole[:-50], whole[:200] + b"\xff" * 200 + whole[400:], b"a\tb\n"):
        path.write_bytes(damaged)
        with pytest.raises(RecipeError, match="cannot read the corpus .*bad.tsv.gz"):
            read_pairs(path)


def test_pairs_too_long_or_empty_are_left_out(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    pairs = ["茶\ttea", "\ttea", "茶\t", "茶\t" + "very " * 30, "猫\tcat"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{p}\n" for p in pairs), encoding="utf-8")
    data = DataTable(("zh", "en"), (CorpusTable("c", tmp_path / "pairs.tsv"),), max_tokens=20)
    (read,) = tokenize_corpora(data, tiny_tokenizer, "train")
    sides = [[tiny_tokenizer.decode(side[i].tolist()) for side in read.sides] for i in range(2)]
    assert (len(read), sides) == (2, [["茶", "tea"], ["猫", "cat"]])


@pytest.mark.parametrize(("source", "sides"), [("both", (0, 1)), ("first", (0,)), ("second", (1,))])
def test_a_corpus_may_be_a_source_on_one_side_only(
    tmp_path: Path,
    tiny_tokenizer: Tokenizer,
    source: Literal["both", "first", "second"],
    sides: tuple[int, ...],
) -> None:
    """And is not augmented then, because what a model made is no text to learn signs from."""
    (tmp_path / "pairs.tsv").write_text("茶\ttea\n猫\tcat\n", encoding="utf-8")
    corpora = (CorpusTable("c", tmp_path / "pairs.tsv", source=source),)
    data = DataTable(("zh", "en"), corpora, augmentation=AugmentationTable(copied=1.0))
    (read,) = tokenize_corpora(data, tiny_tokenizer, "train")
    assert (read.source_sides, len(read)) == (sides, 4 if source == "both" else 2)


VERBS = {"sees": "sieht", "paints": "malt", "likes": "mag", "knows": "kennt"}
NOUNS = {"house": "Haus", "tree": "Baum", "river": "Fluss"}


def test_terms_are_one_more_corpus_of_a_weight_of_its_own(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    """They are searched before a corpus of small weight is cut."""
    lines = [f"he {v} {n}\ter {VERBS[v]} {NOUNS[n]}\n" for v in VERBS for n in NOUNS]
    (tmp_path / "few.tsv").write_text("".join(lines), encoding="utf-8")
    corpora = (CorpusTable("few", tmp_path / "few.tsv", weight=0.01),)
    data = DataTable(("en", "de"), corpora, terms=TermsTable(weight=3.0, contexts=1))
    few, *terms = tokenize_corpora(data, tiny_tokenizer, "train")
    assert (few.name, len(few), {(c.name, c.weight) for c in terms}) == ("few", 0, {("terms", 3.0)})
    texts = [
        tuple(tiny_tokenizer.decode(side[i].tolist()) for side in corpus.sides)
        for corpus in terms
        for i in range(len(corpus))
    ]
    assert ("river", "Fluss") in texts
    assert sum("river" in first and " " in first for first, _ in texts) >= 1


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


def test_a_collated_batch_has_tag_bos_and_eos_in_their_places(tiny_tokenizer: Tokenizer) -> None:
    maker = BatchMaker([corpus([(2, 1), (1, 3)])], ("zh", "en"), tiny_tokenizer, 100)
    zh, en = tiny_tokenizer.tag_id("zh"), tiny_tokenizer.tag_id("en")
    chosen = Examples(np.array([0, 0, 0]), np.array([0, 1, 0]), np.array([0, 0, 1]))
    batch = maker.collate(chosen)
    assert batch.src.tolist() == [[en, 10, 10, 3], [en, 11, 3, 0], [zh, 1010, 3, 0]]
    assert batch.tgt_in.tolist() == [[2, 1010, 3, 0], [2, 1011, 1011, 1011], [2, 10, 10, 3]]
    assert batch.tgt_out.tolist() == [[1010, 3, 0, 0], [1011, 1011, 1011, 3], [10, 10, 3, 0]]
    assert batch.places.tolist() == [0, 1, 4, 5, 6, 7, 8, 9, 10]


def test_work_ahead_keeps_the_order_and_raises_where_it_fails() -> None:
    results = computed_ahead(lambda number: 12 // number, [3, 2, 0, 1])
    assert [next(results), next(results)] == [4, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)
