"""How many translations have lost or added a number: dev sentences with digits, of whose reference
the numbers are the same.

    python -m benchmarks.numbers checkpoints/zh-en --recipe recipes/zh-en-terms.toml
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from sacrebleu import corpus_bleu, corpus_chrf

from model.training.alignment import Pair
from model.training.data import read_pairs
from model.training.recipe import DataTable
from model.training.recipe_file import load_recipe
from service.offline import OfflineOptions, OfflineTranslator
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.language.segmentation import has_digits

_SEED = 5
_LONGEST = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400, help="sentences of each direction")
    parser.add_argument("--precision", default="int8")
    arguments = parser.parse_args()
    data = load_recipe(arguments.recipe).data
    options = OfflineOptions("cpu", arguments.precision)
    with OfflineTranslator([arguments.checkpoint], options) as translator:
        for source, target in data.directions:
            pairs = _with_numbers(data, source)[: arguments.count]
            _measure(translator, pairs, source, target)


def _with_numbers(data: DataTable, source: str) -> list[Pair]:
    """The dev pairs with numbers, from this language, shuffled."""
    paths = [corpus.dev for corpus in data.corpora if corpus.dev is not None]
    pairs = [pair for path in paths for pair in read_pairs(path)]
    if source != data.languages[0]:
        pairs = [(second, first) for first, second in pairs]
    chosen = [pair for pair in pairs if has_digits(pair[0]) and len(pair[0]) <= _LONGEST]
    chosen = [pair for pair in chosen if not _is_wrong(*pair)]
    random.Random(_SEED).shuffle(chosen)
    return chosen


def _is_wrong(source: str, target: str) -> bool:
    return unmatched(find_numbers(source), find_numbers(target)) != ([], [])


def _measure(translator: OfflineTranslator, pairs: list[Pair], source: str, target: str) -> None:
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    answers = translator.translate_all(sources, source, target)
    wrong = sum(map(_is_wrong, sources, answers))
    bleu = corpus_bleu(answers, [references], tokenize="zh" if target == "zh" else "13a").score
    chrf = corpus_chrf(answers, [references]).score
    print(f"{source}-{target}: {wrong} of {len(pairs)} wrong; BLEU {bleu:.1f}, chrF {chrf:.1f}")


if __name__ == "__main__":
    main()
