"""What the checks report on translations of dev sentences, and on the references.

    python -m benchmarks.checks --data data --count 200 --show 40

translates sentences of the dev splits with the bundled models, and prints for each direction how
many are reported, by kind; then some reported ones to read. The references of the same sentences
show how often a human translation is reported.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.sentences import ROOT
from service.offline import OfflineOptions, OfflineTranslator
from service.translation.checks.differences import Check, CheckedSentence, check_sentence

_CORPORA = {
    ("en", "de"): ("tatoeba", "techdocs", "web", "wiki", "dialog", "wmt-news", "games", "debian"),
    ("zh", "en"): ("tatoeba", "techdocs", "web", "wiki", "dialog", "wmt-news", "games", "debian"),
}


class Pair(NamedTuple):
    """A sentence, its reference, and its translation."""

    source: str
    reference: str
    translation: str


def dev_pairs(data: Path, source: str, target: str, count: int) -> list[tuple[str, str]]:
    """Sentences with their references, as many of each corpus."""
    is_turned = (source, target) not in _CORPORA
    languages = (target, source) if is_turned else (source, target)
    names = _CORPORA[languages]
    rng, chosen = random.Random(1), []
    for name in names:
        (path,) = (data / f"{name}-{'-'.join(languages)}").glob("dev.*.tsv.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [tuple(line.rstrip("\n").split("\t")) for line in lines]
        rows = [row for row in rows if max(map(len, row)) < 300]
        chosen += rng.sample(rows, min(len(rows), -(-count // len(names))))
    return [(b, a) if is_turned else (a, b) for a, b in chosen[:count]]


def measure(
    translator: OfflineTranslator, data: Path, source: str, target: str, count: int
) -> list[tuple[Pair, Check]]:
    """Print the counts of one direction; return what was reported of translations."""
    pairs = dev_pairs(data, source, target, count)
    found = translator.translate_all([text for text, _ in pairs], source, target)
    rows = [Pair(*pair, text) for pair, text in zip(pairs, found, strict=True)]
    reported = []
    for column in ("reference", "translation"):
        began = time.process_time()
        checks = [
            (row, check)
            for row in rows
            for check in check_sentence(
                CheckedSentence(row.source, getattr(row, column), source, target)
            )
        ]
        micros = 1e6 * (time.process_time() - began) / len(rows)
        kinds = dict(collections.Counter(check.kind for _, check in checks))
        sentences = len({row for row, _ in checks})
        print(f"{source}-{target} {column}: {sentences} of {len(rows)}, {kinds}, {micros:.0f} us")
        reported = checks
    return reported


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--show", type=int, default=40)
    chosen = parser.parse_args(arguments)
    models = [ROOT / "checkpoints" / name for name in ("zh-en", "en-de")]
    reported: list[tuple[Pair, Check]] = []
    with OfflineTranslator(models, OfflineOptions("cpu", "int8", max_slots=64)) as translator:
        for direction in _CORPORA:
            for source, target in (direction, direction[::-1]):
                reported += measure(translator, chosen.data, source, target, chosen.count)
    for row, check in random.Random(2).sample(reported, min(chosen.show, len(reported))):
        print(f"\n{check.kind}: {check.message}\n  {row.source}\n  {row.translation}")


if __name__ == "__main__":
    main()
