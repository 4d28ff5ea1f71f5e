"""Make the table of short texts: counted on training texts, its weights fitted on dev texts.

    python -m benchmarks.detection.make --data data

writes service/translation/language/short_texts.json.gz, always the same bytes for the same data.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.detection.corpora import COUNTED, foreign_names, sentences, short_texts
from service.translation.language import short_texts as table_module
from service.translation.language.detection import LanguageDetector
from service.translation.language.short_texts import OTHER, ShortTexts, trigrams_of, words_of

LANGUAGES = ("en", "de", "zh")
_WORDS = {"en": 8000, "de": 9000, "zh": 2500}
_TRIGRAMS = 6000
_NAME_COUNT = 20
_RIDGE = 0.001
_OTHER_SHARE = 0.1
"""Assumed: of ten short texts that a server gets, one is in none of the table's languages."""
Counts = dict[str, collections.Counter[str]]


def count_words(data: Path) -> Counts:
    counts: Counts = {code: collections.Counter() for code in (*LANGUAGES, OTHER)}
    for text, language, origin in sentences(data, "train", (*COUNTED, "tatoeba-en-fr")):
        if origin != "tatoeba-en-fr" or language == OTHER:
            counts[language].update(words_of(text))
    for name in foreign_names("train"):
        for word in words_of(name.text):
            counts[OTHER][word] += _NAME_COUNT
    return counts


def make_table(counts: Counts) -> ShortTexts:
    """The table, with weights of 0."""
    totals = {code: counter.total() for code, counter in counts.items()}
    common = {
        word: None
        for code in LANGUAGES
        for word, _ in sorted(counts[code].items(), key=lambda e: (-e[1], e[0]))[: _WORDS[code]]
    }
    words = {
        word: [_log(counts[code][word], totals[code], 1.0) for code in LANGUAGES]
        for word in sorted(common)
    }
    trigrams, rare = _trigram_table(counts)
    return ShortTexts(LANGUAGES, words, trigrams, rare, [0.0] * (4 + len(LANGUAGES)))


def _trigram_table(counts: Counts) -> tuple[dict[str, list[float]], list[float]]:
    """Each word counts by the logarithm of its count, so that rare words matter."""
    by_language: dict[str, dict[str, float]] = {}
    for code, counter in counts.items():
        found: dict[str, float] = collections.defaultdict(float)
        for word, count in sorted(counter.items()):
            if word < "\u2e80":
                for trigram in trigrams_of(word):
                    found[trigram] += math.log1p(count)
        total = sum(found.values())
        by_language[code] = {trigram: mass / total for trigram, mass in found.items()}
    summed: dict[str, float] = collections.defaultdict(float)
    for code in ("en", "de", OTHER):
        for trigram, share in by_language[code].items():
            summed[trigram] += share
    common = sorted(summed, key=lambda trigram: (-summed[trigram], trigram))[:_TRIGRAMS]
    order = (*LANGUAGES, OTHER)
    table = {
        trigram: [_log(by_language[code].get(trigram, 0.0), 1.0, 0.5) for code in order]
        for trigram in sorted(common)
    }
    return table, [_log(0.0, 1.0, 0.5)] * len(order)


def _log(count: float, total: float, least: float) -> float:
    return round(math.log2(least + 1e6 * count / total), 1)


def fit(table: ShortTexts, data: Path) -> list[float]:
    """The weights of the conditional logit, by Newton's method; the languages weigh alike."""
    detector = LanguageDetector()
    rows, chosen = [], []
    for text in short_texts(data, "dev"):
        features = table.features(text.text, detector.scores(text.text))
        if features is not None and text.language in features:
            rows.append(features)
            chosen.append(text.language)
    names = (*LANGUAGES, OTHER)
    x = np.zeros((len(rows), len(names), len(table.weights)))
    is_allowed = np.zeros(x.shape[:2], bool)
    for number, features in enumerate(rows):
        for code, values in features.items():
            x[number, names.index(code)] = values
            is_allowed[number, names.index(code)] = True
    languages = np.array([names.index(code) for code in chosen])
    sizes = np.bincount(languages, minlength=len(names))
    known_share = (1 - _OTHER_SHARE) / len(LANGUAGES)
    shares = np.array([*[known_share] * len(LANGUAGES), _OTHER_SHARE])
    mass = len(rows) * shares / sizes
    return _newton(x, is_allowed, languages, mass[languages])


def _newton(
    x: np.ndarray, is_allowed: np.ndarray, right: np.ndarray, mass: np.ndarray
) -> list[float]:
    weights = np.zeros(x.shape[2])
    for _ in range(50):
        scores = np.where(is_allowed, x @ weights, -np.inf)
        odds = np.exp(scores - scores.max(1, keepdims=True))
        shares = odds / odds.sum(1, keepdims=True)
        expected = np.einsum("nc,ncf->nf", shares, x)
        slope = mass @ (x[np.arange(len(right)), right] - expected) - _RIDGE * weights
        apart = x - expected[:, None]
        curve = np.einsum("n,nc,ncf,ncg->fg", mass, shares, apart, apart)
        weights += np.linalg.solve(curve + _RIDGE * np.eye(len(weights)), slope)
    return [round(float(weight), 4) for weight in weights]


def write(table: ShortTexts, path: Path) -> None:
    text = json.dumps(vars(table), ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    chosen = parser.parse_args(arguments)
    table = make_table(count_words(chosen.data))
    weights = fit(table, chosen.data)
    path = Path(table_module.__file__).with_name(table_module.FILE)
    write(ShortTexts(**{**vars(table), "weights": weights}), path)
    print(path, path.stat().st_size, "bytes; weights", weights)


if __name__ == "__main__":
    main()
