"""How often short texts are detected rightly, and how honest the confidence is.

    python -m benchmarks.detection --data data --split test

prints the share that is right among en, de and zh by kind of text (whole segments of one to three
words, or as many Chinese characters as six; beginnings and single words of longer ones; the file
tests/data/first_words.tsv), beside fastText alone; the expected calibration error over ten bins;
what texts in other languages get; and the time of a detection.
"""

from __future__ import annotations

import argparse
import collections
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.detection.corpora import OTHER, Text, short_texts
from service.translation.language.detection import Detection, LanguageDetector

CANDIDATES = ("en", "de", "zh")


def first_words(path: Path) -> Iterator[Text]:
    """The sources of a file of source language, target language, source text and answers."""
    for line in path.read_text(encoding="utf-8").splitlines():
        language, _, text, *_ = line.split("\t")
        yield Text(text, language, "first words")


def measure(detector: LanguageDetector, texts: Sequence[Text]) -> None:
    right: dict[tuple[str, str], list[tuple[bool, bool]]] = collections.defaultdict(list)
    rated, foreign = [], []
    for text in texts:
        found = detector.detect(text.text, CANDIDATES)
        if text.language == OTHER:
            foreign.append(found.confidence)
            rated.append((found.confidence / 100, False))
            continue
        scores = detector.scores(text.text)
        alone = max(CANDIDATES, key=lambda code: scores.get(code, 0.0))
        is_right = found.language == text.language
        kind = (text.origin, text.language)
        right[kind].append((is_right, alone == text.language))
        rated.append((found.confidence / 100, is_right))
    print("| texts | language | number | right | fastText alone |\n|---|---|---|---|---|")
    for (origin, language), pairs in sorted(right.items()):
        ours, alone_ = (100 * statistics.mean(column) for column in zip(*pairs, strict=True))
        print(f"| {origin} | {language} | {len(pairs)} | {ours:.1f} % | {alone_:.1f} % |")
    print(f"\nexpected calibration error {calibration_error(rated):.3f} ({len(rated)} texts)")
    if foreign:
        over = sum(confidence > 90 for confidence in foreign) / len(foreign)
        print(
            f"other languages: {len(foreign)} texts, median confidence "
            f"{statistics.median(foreign):.1f}, above 90: {100 * over:.1f} %"
        )


def calibration_error(rated: Sequence[tuple[float, bool]]) -> float:
    """The mean distance of confidence and share of right ones over ten bins of equal width."""
    bins: dict[int, list[tuple[float, bool]]] = collections.defaultdict(list)
    for confidence, is_right in rated:
        bins[min(9, int(10 * confidence))].append((confidence, is_right))
    error = 0.0
    for number in sorted(bins):
        confidence, share = (statistics.mean(column) for column in zip(*bins[number], strict=True))
        error += len(bins[number]) / len(rated) * abs(confidence - share)
        print(f"  confidence {confidence:.2f}: {share:.2f} right ({len(bins[number])})")
    return error


def time_of(detector: LanguageDetector, texts: Sequence[Text]) -> None:
    started = time.perf_counter()
    for text in texts:
        detector.detect(text.text, CANDIDATES)
    ours = time.perf_counter()
    for text in texts:
        detector.scores(text.text)
    ended = time.perf_counter()
    ours_us, alone_us = (1e6 * t / len(texts) for t in (ours - started, ended - ours))
    print(f"{ours_us:.0f} us a detection, of which fastText {alone_us:.0f} us")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--split", default="test")
    parser.add_argument("--errors", type=int, default=0, help="whole texts to show")
    chosen = parser.parse_args(arguments)
    detector = LanguageDetector()
    texts = list(short_texts(chosen.data, chosen.split))
    measure(detector, [*texts, *first_words(Path("tests/data/first_words.tsv"))])
    time_of(detector, texts)
    show_errors(detector, texts, chosen.errors)


def show_errors(detector: LanguageDetector, texts: Sequence[Text], most: int) -> None:
    whole = (text for text in texts if text.origin == "whole" and text.language != OTHER)
    wrong: list[tuple[Text, Detection]] = []
    for text in whole:
        found = detector.detect(text.text, CANDIDATES)
        if found.language != text.language:
            wrong.append((text, found))
    for text, found in wrong[:most]:
        print(f"{text.language}: {text.text!r} taken for {found.language}, {found.confidence}")


if __name__ == "__main__":
    main()
