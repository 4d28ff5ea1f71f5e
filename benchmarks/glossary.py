"""What a glossary does to translations, and what it costs.

From the training data come pairs of words that occur together (by Dice's coefficient). Of the dev
data are taken sentences whose reference has the translation of such a word, and these pairs are
the sentence's glossary. Printed for each direction: the share of terms that appear, without and
with the glossary, BLEU of both, and sentences a second.

    python -m benchmarks.glossary
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import regex
from sacrebleu import corpus_bleu

from benchmarks.sentences import ROOT
from service.offline import OfflineOptions, OfflineTranslator
from service.translation.glossary import Glossary, GlossaryEntry, GlossaryMatcher
from service.translation.job import TranslationJob

_CORPORA = {
    "en-de": ("tatoeba-en-de", "techdocs-en-de"),
    "zh-en": ("tatoeba-zh-en", "techdocs-zh-en"),
}
_WORD = regex.compile(r"\p{Han}{2,4}|[\p{L}--\p{Han}]{4,}", regex.V1)
_MOST_LINES, _MOST_FREQUENT = 25_000, 150
_LEAST_DICE, _LEAST_COUNT = 0.3, 8
_MOST_TERMS = 2


class Example(NamedTuple):
    source: str
    reference: str
    entries: tuple[GlossaryEntry, ...]


def pairs_of(pair: str, split: str) -> Iterator[tuple[str, str]]:
    for name in _CORPORA[pair]:
        path = ROOT / "data" / name / f"{split}.{pair}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in islice(lines, _MOST_LINES):
                source, target, *_ = line.rstrip("\n").split("\t")
                yield source, target


def words(text: str, language: str) -> set[str]:
    """The words of a text; in Chinese all strings of two to four characters."""
    found = _WORD.findall(text)
    if language != "zh":
        return set(found)
    runs = regex.findall(r"\p{Han}+", text)
    return {run[i : i + n] for run in runs for n in (2, 3, 4) for i in range(len(run) - n + 1)}


def dictionary(pair: str) -> dict[str, str]:
    """The likeliest translation of each source word."""
    source_language, target_language = pair.split("-")
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    lines = [
        (words(source, source_language), words(target, target_language))
        for source, target in pairs_of(pair, "train")
    ]
    for there, here in lines:
        sources.update(there)
        targets.update(here)
    frequent = {word for word, _ in targets.most_common(_MOST_FREQUENT)}
    for there, here in lines:
        kept = [word for word in there if sources[word] >= _LEAST_COUNT]
        own = [word for word in here if targets[word] >= _LEAST_COUNT and word not in frequent]
        both.update((s, t) for s in kept for t in own)
    best: dict[str, tuple[float, str]] = {}
    for (s, t), count in both.items():
        dice = 2 * count / (sources[s] + targets[t])
        if dice >= _LEAST_DICE:
            best[s] = max(best.get(s, (0.0, "")), (dice, t))
    return {s: t for s, (_, t) in best.items()}


def examples(pair: str, count: int) -> list[Example]:
    known, found = dictionary(pair), []
    source_language, target_language = pair.split("-")
    for source, reference in pairs_of(pair, "dev"):
        own = words(reference, target_language)
        terms = {known[s]: s for s in sorted(words(source, source_language)) if known.get(s) in own}
        entries = [GlossaryEntry(s, t) for t, s in sorted(terms.items())[:_MOST_TERMS]]
        matches = GlossaryMatcher(entries, source_language).find(source)
        entries = list(dict.fromkeys(match.entry for match in matches))
        if entries and len(source) < 300:
            found.append(Example(source, reference, tuple(entries)))
    step = max(1, len(found) // count)
    return found[::step][:count]


def share(chosen: Sequence[Example], texts: Sequence[str]) -> float:
    hits = [
        entry.target.casefold() in text.casefold()
        for example, text in zip(chosen, texts, strict=True)
        for entry in example.entries
    ]
    return 100 * sum(hits) / len(hits)


def translations(
    translator: OfflineTranslator, pair: str, chosen: Sequence[Example], *, has_glossary: bool
) -> tuple[list[str], float]:
    """The translations, and sentences a second."""
    source, target = pair.split("-")
    jobs = [
        TranslationJob(
            [example.source],
            source,
            target,
            glossary=Glossary(example.entries) if has_glossary else None,
        )
        for example in chosen
    ]
    began = time.perf_counter()
    results = translator.run_jobs(jobs)
    return [one.text for (one,) in results], len(jobs) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="sentences of each direction")
    parser.add_argument("--show", type=int, default=0, help="translations to print")
    arguments = parser.parse_args()
    models = [Path(ROOT / "checkpoints" / pair) for pair in _CORPORA]
    with OfflineTranslator(models, OfflineOptions(max_beam_size=16)) as translator:
        for pair in _CORPORA:
            chosen = examples(pair, arguments.count)
            references = [[example.reference for example in chosen]]
            num_terms = sum(len(example.entries) for example in chosen)
            print(f"{pair}: {len(chosen)} sentences with {num_terms} terms")
            for has_glossary in (False, True):
                texts, rate = translations(translator, pair, chosen, has_glossary=has_glossary)
                bleu = corpus_bleu(texts, references).score
                name = "glossary" if has_glossary else "without"
                print(
                    f"  {name:9} {share(chosen, texts):5.1f} % of the terms, BLEU {bleu:4.1f}, "
                    f"{rate:5.1f} sentences/s"
                )
                for example, text in list(zip(chosen, texts, strict=True))[: arguments.show]:
                    print("   ", example.source, "|", example.entries, "|", text)


if __name__ == "__main__":
    main()
