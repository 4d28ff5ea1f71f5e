"""Texts in English, German, Chinese and other languages, by the corpora's splits.

Counted are corpora whose licences ask for no more than their name: Tatoeba (CC BY 2.0),
SuttaCentral (CC0), the PHP manual (CC BY 3.0), technical tutorials (CC BY, Apache 2.0, MIT), 3AM
(MIT), ConvLab dialogues (Apache 2.0). Other languages are French (Tatoeba, CC BY 2.0) and the
names of languages, months, days and units in Unicode's CLDR, as Babel has them (Unicode licence).
"""

from __future__ import annotations

import collections
import gzip
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import regex
from babel import Locale
from babel.units import get_unit_name

COUNTED = (
    *("tatoeba-en-de", "tatoeba-zh-en", "suttacentral-en-de", "php-en-de", "php-zh-en"),
    *("techtut-en-de", "3am-zh-en", "dialog-zh-en"),
)
_MEASURED = (*COUNTED, "web-en-de", "web-zh-en", "dialog-en-de", "games-en-de", "techdocs-zh-en")
OTHER = "other"
_CLDR = {
    "train": ("es", "nl", "sv", "pl", "tr", "ro", "ja", "hu"),
    "dev": ("it", "da", "cs", "fi", "id", "ja"),
    "test": ("pt", "nb", "sk", "et", "ca", "hr", "vi", "ja", "ko", "ru"),
}
_COMMON = ("en", "de", "fr", "es", "it", "pt", "zh", "ja", "ru", "ar", "nl", "pl", "sv", "tr")
_UNITS = ("duration-year", "duration-month", "duration-day", "duration-hour", "mass-gram")
_WORD = regex.compile(r"\p{Han}|[\p{L}\p{M}\p{N}'’-]+|[^\s]")
_LETTERS = collections.defaultdict(
    lambda: regex.compile(r"\p{L}"), {"zh": regex.compile(r"\p{Han}")}
)


class Text(NamedTuple):
    """A text and its language, "other" for those that the table does not count."""

    text: str
    language: str
    origin: str


def sentences(data: Path, split: str, names: Iterable[str] = COUNTED) -> Iterator[Text]:
    """Every side of every pair of the corpora."""
    for name in names:
        languages = name.split("-")[-2:]
        (path,) = (data / name).glob(f"{split}.*.tsv.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                sides = line.rstrip("\n").split("\t")
                if sides[0].lower() != sides[1].lower():
                    for language, text in zip(languages, sides, strict=True):
                        known = language if language in ("en", "de", "zh") else OTHER
                        yield Text(text, known, name)


def foreign_names(split: str) -> Iterator[Text]:
    """Common names in the CLDR languages of the split that English and German do not have."""
    known = {name.lower() for code in ("en", "de") for name in _names(code)}
    for code in _CLDR[split]:
        for name in dict.fromkeys(_names(code)):
            if name.lower() not in known:
                yield Text(name, OTHER, f"cldr-{code}")


def _names(code: str) -> list[str]:
    locale = Locale.parse(code)
    return [
        *(locale.languages[other] for other in _COMMON),
        *locale.months["stand-alone"]["wide"].values(),
        *locale.days["stand-alone"]["wide"].values(),
        *(get_unit_name(unit, "long", locale) or "" for unit in _UNITS),
    ]


def short_texts(data: Path, split: str, seed: int = 1) -> Iterator[Text]:
    """One to three words: whole texts, and beginnings and single words of longer ones."""
    chosen = random.Random(seed)
    seen = set()
    for text in _candidates(data, split, chosen):
        if text not in seen and _LETTERS[text.language].search(text.text):
            seen.add(text)
            yield text


def _candidates(data: Path, split: str, chosen: random.Random) -> Iterator[Text]:
    for text, language, origin in sentences(data, split, (*_MEASURED, "tatoeba-en-fr")):
        if origin == "tatoeba-en-fr" and language != OTHER:
            continue
        parts = [match.span() for match in _WORD.finditer(text)]
        most = 6 if language == "zh" else 3
        if 0 < sum(text[a].isalnum() for a, _ in parts) <= most:
            yield Text(text, language, "whole")
        elif parts:
            count = chosen.randint(2, most)
            yield Text(text[: parts[min(count, len(parts)) - 1][1]], language, "beginning")
            start, end = chosen.choice(parts)
            if len(text[start:end]) > 2:
                yield Text(text[start:end], language, "word")
    for name in foreign_names(split):
        if len(name.text.split()) <= 3:
            yield name
