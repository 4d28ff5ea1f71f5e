"""The phrases under recipes/phrases: none is a line of the checks or of the held-out sets."""

from __future__ import annotations

import unicodedata
from itertools import chain
from pathlib import Path

import pytest

from model.training.data import read_pairs

ROOT = Path(__file__).parents[2]
PHRASES = ROOT / "recipes" / "phrases"
FILES = sorted(PHRASES.glob("*.tsv"))
CHECKS = [ROOT / "tests" / "data" / name for name in ("first_words.tsv", "awkward.tsv")]


def comparable(text: str) -> str:
    """The letters and digits of a text, folded, so that "Hello!" equals "hello"."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_phrase_is_a_check_or_occurs_twice(path: Path) -> None:
    lines = chain.from_iterable(check.read_text(encoding="utf-8").splitlines() for check in CHECKS)
    columns = [line.split("\t") for line in lines if line and not line.startswith("#")]
    checked = {comparable(row[2]) for row in columns} - {""}
    assert len(checked) > 100
    for side in zip(*read_pairs(path), strict=True):
        assert len({text.casefold() for text in side}) == len(side)
        assert not checked & {comparable(text) for text in side}


@pytest.mark.parametrize("pair", ["zh-en", "en-de"])
def test_no_line_that_is_held_out_is_trained_on(pair: str) -> None:
    trained = chain.from_iterable(
        chain.from_iterable(read_pairs(path)) for path in FILES if path.name.startswith(pair)
    )
    known = set(map(comparable, trained))
    for split in ("dev", "test"):
        pairs = read_pairs(PHRASES / "held-out" / f"{split}.{pair}.tsv")
        assert len(pairs) == 250
        assert not known & {comparable(text) for one in pairs for text in one}
