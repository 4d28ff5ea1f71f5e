"""The phrases under recipes/phrases: their form, and that none is a line of the checks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from model.training.data import read_pairs
from model.training.recipe_file import load_recipe

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "recipes" / "phrases").glob("*.tsv"))
CHECKS = [ROOT / "tests" / "data" / name for name in ("first_words.tsv", "awkward.tsv")]
_IDEOGRAPH = re.compile(r"[\u4e00-\u9fff]")
_HALF_WIDTH = re.compile(r"[,.?!;()\"]")


def comparable(text: str) -> str:
    """The letters and digits of a text, folded, so that "Hello!" equals "hello"."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def checked_sources() -> set[str]:
    """What the first words and the awkward inputs ask for, comparable."""
    lines = chain.from_iterable(path.read_text(encoding="utf-8").splitlines() for path in CHECKS)
    columns = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {key for row in columns if (key := comparable(row[2]))}


def form_fault(text: str, language: str) -> str | None:
    """The first rule of form that one side of a pair breaks."""
    if unicodedata.normalize("NFC", text) != text:
        return "not NFC"
    if text != text.strip() or "  " in text or not text.isprintable():
        return "stray space"
    if not comparable(text):
        return "no word"
    if bool(_IDEOGRAPH.search(text)) != (language == "zh"):
        return "wrong language"
    if language == "zh" and _HALF_WIDTH.search(text):
        return "half-width mark"
    return None


def faults(text: str, languages: tuple[str, str], checked: set[str]) -> list[str]:
    """What is wrong with a file of pairs, as "line: fault"."""
    found, seen = [], (Counter[str](), Counter[str]())
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            found.append(f"{number}: {len(columns)} columns")
            continue
        for side, language, counter in zip(columns, languages, seen, strict=True):
            counter[side.casefold()] += 1
            if fault := form_fault(side, language):
                found.append(f"{number}: {fault}")
            if counter[side.casefold()] > 1:
                found.append(f"{number}: occurs before")
            if comparable(side) in checked:
                found.append(f"{number}: is a check")
    return found


def languages_of(path: Path) -> tuple[str, str]:
    first, second = path.stem.removesuffix("-words").split("-")
    return first, second


def test_there_are_phrases_and_words_of_two_language_pairs() -> None:
    names = ["en-de-words.tsv", "en-de.tsv", "zh-en-words.tsv", "zh-en.tsv"]
    assert [path.name for path in FILES] == names
    assert len(checked_sources()) > 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_line_is_well_formed_new_and_no_check(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert faults(text, languages_of(path), checked_sources()) == []


@pytest.mark.parametrize("pair", ["zh-en", "en-de"])
def test_words_are_no_phrases(pair: str) -> None:
    files = (ROOT / "recipes" / "phrases" / f"{pair}{end}.tsv" for end in ("", "-words"))
    phrases, words = (read_pairs(path) for path in files)
    for side in (0, 1):
        assert not {pair[side].casefold() for pair in phrases} & {
            pair[side].casefold() for pair in words
        }


@pytest.mark.parametrize("name", ["zh-en", "en-de"])
def test_a_recipe_trains_on_the_phrases_of_its_languages(name: str) -> None:
    recipe = load_recipe(ROOT / "recipes" / f"{name}.toml")
    (corpus,) = [corpus for corpus in recipe.data.corpora if corpus.name == "phrases"]
    assert corpus.train == Path("recipes", "phrases", "-".join(recipe.data.languages) + ".tsv")
    assert (corpus.dev, corpus.test) == (None, None)
    assert len(read_pairs(ROOT / corpus.train)) > 500
