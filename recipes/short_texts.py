"""Make the table of short texts: counted on training texts, its weights fitted on dev texts.

    python -m recipes.short_texts data

writes service/translation/language/short_texts.json.gz, always the same bytes for the same data.
Licences: Tatoeba (CC BY 2.0), SuttaCentral (CC0), the PHP manual (CC BY 3.0), technical tutorials
(CC BY, Apache 2.0, MIT), 3AM (MIT), ConvLab dialogues (Apache 2.0). Other languages are French
(Tatoeba) and names of languages, months, days and units in the CLDR (Babel; Unicode licence).
"""

from __future__ import annotations

import collections
import gzip
import json
import math
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex
from babel import Locale
from babel.units import get_unit_name

from service.translation.language import short_texts as table_module
from service.translation.language.detection import LanguageDetector
from service.translation.language.short_texts import (
    OTHER,
    ShortTexts,
    packed,
    trigrams_of,
    words_of,
)

LANGUAGES = ("en", "de", "zh")
COUNTED = (
    *("tatoeba-en-de", "tatoeba-zh-en", "suttacentral-en-de", "php-en-de", "php-zh-en"),
    *("techtut-en-de", "3am-zh-en", "dialog-zh-en"),
)
FITTED = (*COUNTED, "web-en-de", "web-zh-en", "dialog-en-de", "games-en-de", "techdocs-zh-en")
FRENCH = "tatoeba-en-fr"
_CLDR = {
    "train": ("es", "nl", "sv", "pl", "tr", "ro", "ja", "hu"),
    "dev": ("it", "da", "cs", "fi", "id", "ja"),
}
_COMMON = ("en", "de", "fr", "es", "it", "pt", "zh", "ja", "ru", "ar", "nl", "pl", "sv", "tr")
_UNITS = ("duration-year", "duration-month", "duration-day", "duration-hour", "mass-gram")
_WORD = regex.compile(r"\p{Han}|[\p{L}\p{M}\p{N}'’-]+|[^\s]")
_HAN, _LETTER = regex.compile(r"\p{Han}"), regex.compile(r"\p{L}")
_WORDS = {"en": 8000, "de": 9000, "zh": 2500}
_TRIGRAMS, _NAME_COUNT, _RIDGE = 6000, 20, 0.001
_OTHER_SHARE = 0.1  # assumed: of ten short texts, one is in none of the table's languages
Counts = dict[str, collections.Counter[str]]
Array = np.ndarray


class Text(NamedTuple):
    """A text, its language ("other": one that the table does not count), and what part it is."""

    text: str
    language: str
    part: str = "whole"


def sentences(data: Path, split: str, names: Iterable[str]) -> Iterator[Text]:
    """Both sides of every pair of the corpora, and the French side of Tatoeba."""
    for name in (*names, FRENCH):
        (path,) = (data / name).glob(f"{split}.*.tsv.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                sides = line.rstrip("\n").split("\t")
                if sides[0].lower() != sides[1].lower():
                    for code, text in zip(name.split("-")[-2:], sides, strict=True):
                        language = code if code in LANGUAGES else OTHER
                        if name != FRENCH or language == OTHER:
                            yield Text(text, language)


def foreign_names(split: str) -> Iterator[Text]:
    """Common names in the CLDR languages of the split that English and German do not have."""
    known = {name.lower() for code in ("en", "de") for name in _names(code)}
    for code in _CLDR[split]:
        for name in dict.fromkeys(_names(code)):
            if name.lower() not in known:
                yield Text(name, OTHER, code)


def _names(code: str) -> list[str]:
    locale = Locale.parse(code)
    return [
        *(locale.languages[other] for other in _COMMON),
        *locale.months["stand-alone"]["wide"].values(),
        *locale.days["stand-alone"]["wide"].values(),
        *(get_unit_name(unit, "long", locale) or "" for unit in _UNITS),
    ]


def short_texts(data: Path) -> list[Text]:
    """Dev texts of one to three words: whole ones, beginnings and single words of longer ones."""
    found = dict.fromkeys(_candidates(data, random.Random(1)))
    return [t for t in found if (_HAN if t.language == "zh" else _LETTER).search(t.text)]


def _candidates(data: Path, chosen: random.Random) -> Iterator[Text]:
    for text, language, _ in sentences(data, "dev", FITTED):
        parts = [match.span() for match in _WORD.finditer(text)]
        most = 6 if language == "zh" else 3
        if 0 < sum(text[start].isalnum() for start, _ in parts) <= most:
            yield Text(text, language)
        elif parts:
            count = chosen.randint(2, most)
            yield Text(text[: parts[min(count, len(parts)) - 1][1]], language, "beginning")
            start, end = chosen.choice(parts)
            if end - start > 2:
                yield Text(text[start:end], language, "word")
    yield from (name for name in foreign_names("dev") if len(name.text.split()) <= 3)


def count_words(data: Path) -> Counts:
    counts: Counts = {code: collections.Counter() for code in (*LANGUAGES, OTHER)}
    names = [name for name in foreign_names("train") for _ in range(_NAME_COUNT)]
    for text in (*sentences(data, "train", COUNTED), *names):
        counts[text.language].update(words_of(text.text))
    return counts


def make_table(counts: Counts) -> ShortTexts:
    """The table, with weights of 0."""
    common, totals = set[str](), {code: counter.total() for code, counter in counts.items()}
    for code in LANGUAGES:
        by_count = sorted(counts[code], key=lambda word: (-counts[code][word], word))
        common.update(by_count[: _WORDS[code]])
    words = {
        word: packed([_log(counts[code][word], totals[code], 1.0) for code in LANGUAGES])
        for word in sorted(common)
    }
    trigrams, rare = _trigram_table(counts)
    return ShortTexts(LANGUAGES, words, trigrams, rare, [0.0] * (4 + len(LANGUAGES)))


def _trigram_table(counts: Counts) -> tuple[dict[str, str], str]:
    """Each word counts by the logarithm of its count, so that rare words matter."""
    shares: dict[str, dict[str, float]] = {}
    for code, counter in counts.items():
        found: dict[str, float] = collections.defaultdict(float)
        for word, count in sorted(counter.items()):
            for trigram in trigrams_of(word) if word < "\u2e80" else ():
                found[trigram] += math.log1p(count)
        total = sum(found.values())
        shares[code] = {trigram: mass / total for trigram, mass in found.items()}
    latin = [shares[code] for code in ("en", "de", OTHER)]
    summed = {t: sum(share.get(t, 0.0) for share in latin) for t in set().union(*latin)}
    common = sorted(summed, key=lambda trigram: (-summed[trigram], trigram))[:_TRIGRAMS]
    table = {
        trigram: packed([_log(shares[code].get(trigram, 0.0), 1.0, 0.5) for code in shares])
        for trigram in sorted(common)
    }
    return table, packed([_log(0.0, 1.0, 0.5)] * len(shares))


def _log(count: float, total: float, least: float) -> float:
    return math.log2(least + 1e6 * count / total)


def fit(table: ShortTexts, texts: list[Text]) -> list[float]:
    """The weights of the conditional logit, by Newton's method; the languages weigh alike."""
    detector, names = LanguageDetector(), (*LANGUAGES, OTHER)
    featured = [(t, table.features(t.text, detector.scores(t.text))) for t in texts]
    known = [(text, found) for text, found in featured if found and text.language in found]
    x = np.full((len(known), len(names), len(table.weights)), np.nan)
    for number, (_, features) in enumerate(known):
        for code, values in features.items():
            x[number, names.index(code)] = values
    right = np.array([names.index(text.language) for text, _ in known])
    shares = np.array([(1 - _OTHER_SHARE) / len(LANGUAGES)] * len(LANGUAGES) + [_OTHER_SHARE])
    mass = len(known) * shares / np.bincount(right, minlength=len(names))
    return _newton(np.nan_to_num(x), ~np.isnan(x[..., 0]), right, mass[right])


def _newton(x: Array, is_allowed: Array, right: Array, mass: Array) -> list[float]:
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


def main(data: Path) -> None:
    table = vars(make_table(count_words(data)))
    table["weights"] = fit(ShortTexts(**table), short_texts(data))
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    path = Path(table_module.__file__).with_name(table_module.FILE)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
