"""Texts in English, German, Chinese, French and other languages, by the corpora's splits.

Counted are corpora whose licences ask for no more than their name: Tatoeba (CC BY 2.0),
SuttaCentral (CC0), the PHP manual (CC BY 3.0), technical tutorials (CC BY, Apache 2.0, MIT), 3AM
(MIT), ConvLab dialogues (Apache 2.0), manuals of GNOME and tldr (CC BY). Other languages are
names of languages, territories, months, days and units in Unicode's CLDR, as Babel has them
(Unicode licence). Of the pairs of English and French only the French side is read.
"""

from __future__ import annotations

import collections
import functools
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
    *("tatoeba-en-fr", "techtut-en-fr", "techdocs-en-fr"),
)
_MEASURED = (
    *(*COUNTED, "web-en-de", "web-zh-en", "web-en-fr", "dialog-en-de", "games-en-de"),
    *("games-en-fr", "techdocs-zh-en"),
)
LANGUAGES = ("en", "de", "zh", "fr")
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
    """Every side of every pair of the corpora, but only French of English and French."""
    for name in names:
        languages = name.split("-")[-2:]
        (path,) = (data / name).glob(f"{split}.*.tsv.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                sides = line.rstrip("\n").split("\t")
                if sides[0].lower() != sides[1].lower():
                    for language, text in zip(languages, sides, strict=True):
                        if language == "fr" or "fr" not in languages:
                            yield Text(text, language, name)


def foreign_names(split: str) -> Iterator[Text]:
    """Common names in the CLDR languages of the split that the table's languages do not have."""
    for code in _CLDR[split]:
        yield from _unknown(_common_names(Locale.parse(code)), f"cldr-{code}")


def many_foreign_names(split: str) -> Iterator[Text]:
    """Also the names of all languages and territories, for counting trigrams."""
    for code in _CLDR[split]:
        locale = Locale.parse(code)
        names = [*_common_names(locale), *locale.languages.values(), *locale.territories.values()]
        yield from _unknown(names, f"cldr-{code}")


def _unknown(names: Iterable[str], origin: str) -> Iterator[Text]:
    for name in dict.fromkeys(names):
        if name.lower() not in _known_names():
            yield Text(name, OTHER, origin)


@functools.cache
def _known_names() -> frozenset[str]:
    locales = [Locale.parse(code) for code in LANGUAGES]
    return frozenset(
        name.lower()
        for locale in locales
        for names in (_common_names(locale), locale.languages.values(), locale.territories.values())
        for name in names
    )


def _common_names(locale: Locale) -> list[str]:
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
    for text, language, _ in sentences(data, split, _MEASURED):
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
