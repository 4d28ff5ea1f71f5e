"""Unselected translations as Markdown tables: the first lines of each test set of a recipe, in each
direction. Sets that a recipe only measures are left out, because their texts may not be passed on.

    python -m benchmarks.samples checkpoints/zh-en --recipe recipes/zh-en-named.toml
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from model.training.alignment import Pair
from model.training.data import read_pairs
from model.training.recipe import CorpusTable
from model.training.recipe_file import load_recipe
from service.offline import OfflineOptions, OfflineTranslator


def sampled(corpora: Sequence[CorpusTable], count: int) -> Iterator[tuple[str, list[Pair]]]:
    """The first pairs of each test set that a recipe also has a training set of."""
    for corpus in corpora:
        if corpus.train is not None and corpus.test is not None:
            yield corpus.name, list(islice(read_pairs(corpus.test), count))


def table(direction: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """A Markdown table of sources, translations and references."""
    lines = [f"| {direction} | translation | reference |", "|---|---|---|"]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """The text as a table shows it literally."""
    for character in "\\`*_<>|[]":
        text = text.replace(character, "\\" + character)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--precision", default="int8")
    arguments = parser.parse_args()
    recipe = load_recipe(arguments.recipe)
    options = OfflineOptions("cpu", arguments.precision)
    with OfflineTranslator([arguments.checkpoint], options) as translator:
        for name, pairs in sampled(recipe.data.corpora, arguments.count):
            print(f"\n## {name}")
            for side in (0, 1):
                source, target = recipe.data.languages[side], recipe.data.languages[1 - side]
                texts = [pair[side] for pair in pairs]
                found = translator.translate_all(texts, source, target)
                references = [pair[1 - side] for pair in pairs]
                rows = list(zip(texts, found, references, strict=True))
                print(f"\n{table(f'{source}-{target}', rows)}")


if __name__ == "__main__":
    main()
