"""Laws of the pairs that are made from a corpus's pairs."""

from __future__ import annotations

import re
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
