"""How many sentences keep all their placeholders, or all their tags: each once and none besides,
tags nested as they were opened. Sentences of the recipe's dev sets, with pieces put in as training
does, by another seed.

python -m benchmarks.reserved checkpoints/zh-en --recipe recipes/zh-en-wide.toml
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from model.checkpoint import read_info
from model.text.reserved import reserved_pieces
from model.training.alignment import Pair
from model.training.data import read_pairs
from model.training.markup import with_placeholders, with_tags
from model.training.recipe_file import load_recipe
from service.offline import OfflineOptions, OfflineTranslator

_SEED = 2026
_TAG = re.compile(r"⟦<(/?)(\d+)(/?)>⟧")


def are_kept(source: str, target: str, pieces: list[str]) -> bool:
    """Whether the target has the source's pieces, and its tags are nested."""
    counts = [Counter({p: n for p in pieces if (n := t.count(p))}) for t in (source, target)]
    return counts[0] == counts[1] and is_nested(target)


def is_nested(text: str) -> bool:
    """Whether every tag is closed, in the reverse order of opening."""
    opened: list[str] = []
    for closing, number, empty in _TAG.findall(text):
        if not closing and not empty:
            opened.append(number)
        elif closing and (not opened or opened.pop() != number):
            return False
    return not opened


def measure(
    translator: OfflineTranslator,
    pairs: list[Pair],
    side: int,
    languages: tuple[str, str],
    reserved: int,
) -> dict[str, float]:
    """The share of sentences of this side that keep their placeholders, and their tags."""
    pieces, shares = reserved_pieces(reserved), {}
    kinds: dict[str, Callable[..., Pair]] = {"placeholders": with_placeholders, "tags": with_tags}
    for name, make in kinds.items():
        rng = random.Random(_SEED)
        sources = [make(pair, [], reserved, rng)[side] for pair in pairs]
        targets = translator.translate_all(sources, languages[side], languages[1 - side])
        kept = [are_kept(s, t, pieces) for s, t in zip(sources, targets, strict=True)]
        shares[name] = sum(kept) / len(kept)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100, help="sentences of each corpus")
    parser.add_argument("--precision", default="int8")
    arguments = parser.parse_args()
    data = load_recipe(arguments.recipe).data
    pairs = [
        pair
        for corpus in data.corpora
        if corpus.dev is not None
        for pair in read_pairs(corpus.dev)[: arguments.count]
    ]
    reserved = read_info(arguments.checkpoint).tokenizer.reserved or 16
    options = OfflineOptions("cpu", arguments.precision)
    with OfflineTranslator([arguments.checkpoint], options) as translator:
        for side in (0, 1):
            shares = measure(translator, pairs, side, data.languages, reserved)
            direction = f"{data.languages[side]}-{data.languages[1 - side]}"
            print(direction, len(pairs), *(f"{name} {share:.1%}" for name, share in shares.items()))


if __name__ == "__main__":
    main()
