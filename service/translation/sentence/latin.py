"""Words in Latin letters in a text of a script without spaces, such as an English word in Chinese,
and codes that begin with one, as in C13登机口 and 京A·12345.

A translation into a language with spaces keeps them, but networks translate some into Chinese, and
join some to the word or the mark before: theNode. Into Chinese they copy parts of names: 弗eder.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from model.text.spans import Span
from service.translation.language.segmentation import is_spaced
from service.translation.language.short_texts import ShortTexts
from service.translation.sentence.acronyms import has_other
from service.translation.sentence.emphasis import KNOWN_NAMES
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

LATIN = re.compile("[A-Za-z\u00c0-\u024f][A-Za-z0-9 ·\u00c0-\u024f]")
"""One cheap look, since few texts have such words."""
_RUN = regex.compile(
    r"""(?<![\p{L}\p{N}_--\p{Han}]|\p{Latin}['’-]) (?=\p{Latin}(?:\ ?\p{Latin}|[0-9]|·[A-Z0-9]))
    (?P<word>\p{Latin}(?:·(?=[A-Z0-9]{4}))?[\p{Latin}0-9]*+(?:['’-]\p{Latin}++)*+(?![\p{N}_]))
    (?:\ (?P>word))*+""",
    regex.V1 | regex.X,
)


_WRITTEN = regex.compile(
    r"(?P<mark>(?<=\p{L})[.,:;!?])?(?<![\p{L}\p{N}_])(?P<word>\p{Latin}[\p{Latin}0-9]++)"
)
_PART = regex.compile(r"(?<![\p{Latin}\p{N}_.'’-])\p{Latin}{2,}+(?![\p{N}_.])")
_ACRONYM = regex.compile(
    r"(?<![\p{L}\p{N}_.'’&/-]|\d\s)(?!(?:[IVXLC]++|AD|BCE?)\b)\p{Lu}{2,6}+(?![\p{L}\p{N}_&/]|[.'’-]\p{L})"
)
"""No Roman numeral, no era and no unit."""
_HAS_CAPITALS = re.compile(
    "[A-Z\u00c4\u00d6\u00dc][A-Za-z\u00e4\u00f6\u00fc]{0,4}[A-Z\u00c4\u00d6\u00dc]"
)
_CAPITALS = regex.compile(
    r"(?<![\p{L}\p{N}_.'’&/])(?![IVXLC]++\b)(?=\p{L}*\p{Lu}\p{L}*\p{Lu})\p{L}{2,8}+"
    r"(?![\p{N}_&/]|[.'’]\p{L})"
)
"""An acronym, also one with small letters: BAföG."""
_RARE = 4.5
"""The logarithm of the frequency of a word above which capitals emphasise it."""
_LONGEST_LIKE = 6
"""Letters of an acronym that may have lost all but its first one."""
_HEAD = regex.compile(r"\p{Latin}*\p{Ll}\Z")
_MAYBE_CODE = re.compile("[A-Za-z\u00c0-\u024f][0-9]|[A-Z] [0-9]|[0-9][A-Z]")
_CODE = regex.compile(
    r"(?<![\p{L}\p{N}_.'’/-])(?:\p{Latin}{1,8}[0-9]{1,5}\p{Latin}{0,2}"
    r"|(?<![$€£¥] )[1-9](?![BM])\p{Lu}"
    r"|(?!AD )\p{Lu}{2,3} (?!(?:1[0-9]|20)\d\d)[0-9]{3,5}|(?:\p{Lu}{2,3} ){2,3}[0-9]{3,5})"
    r"(?![\p{L}\p{N}_'’/-]|[.,]\w)"
)


@dataclass(frozen=True)
class LatinWords:
    """The stage of a sentence with such words, which go in as they are."""

    text: str
    _words: frozenset[str]

    def leave(self, draft: Draft) -> Draft:
        """The translation with a space before those that it joins to what stands before, and with
        their own capitals where it has only some of them, as in vPN."""
        return draft.changed([*self._changes(draft.text)])

    def _changes(self, translation: str) -> Iterator[Replacement]:
        for found in _WRITTEN.finditer(translation):
            start, end = found.span("word")
            word = found["word"]
            if word in self._words:
                if found["mark"] and found.group() not in self.text:
                    yield Replacement(start, start, " ")
            elif word[1:].islower() or word.isupper() or word in self.text:
                continue
            elif like := next((one for one in self._words if one.lower() == word.lower()), ""):
                yield Replacement(start, end, like)
            elif tail := self._tail(word):
                yield Replacement(end - len(tail), end - len(tail), " ")

    def _tail(self, word: str) -> str:
        """The longest of the words that the word ends with, behind a small letter."""
        tails = (
            one
            for one in self._words
            if not one.islower() and word.endswith(one) and _HEAD.match(word[: -len(one)])
        )
        return max(tails, key=len, default="")


def enter_latin(text: str) -> LatinWords | None:
    """The stage of a sentence with words that its translation keeps; None without."""
    words = {word for run in find_latin(text) for word in text[slice(*run)].split()}
    return LatinWords(text, frozenset(words)) if words else None


@functools.lru_cache
def keeps_latin(source: str, target: str) -> bool:
    """Whether a translation keeps such words."""
    return is_spaced(target) and not is_spaced(source)


@functools.lru_cache
def tears_latin(source: str, target: str) -> bool:
    """Whether a translation may have parts of such words."""
    return not is_spaced(target) and is_spaced(source)


def find_latin(text: str) -> Iterator[Span]:
    """The runs of such words, in order; a single letter, as in T恤, is none."""
    found = _RUN.finditer(text) if LATIN.search(text) else ()
    return (Span(*match.span()) for match in found)


def lost_latin(text: str, translation: str) -> int:
    """How many of the runs the translation lacks, in capitals or not, or has with more digits."""
    small = translation.casefold()
    return sum(not _occurs(text[start:end].casefold(), small) for start, end in find_latin(text))


def _occurs(word: str, text: str) -> bool:
    """Whether the word stands somewhere in the text without a digit behind it."""
    return any(not behind[:1].isdigit() for behind in text.split(word)[1:])


def lost_codes(text: str, translation: str) -> list[Span]:
    """The codes of a text, as B12 and CA 873, that the translation lacks or has longer."""
    if _MAYBE_CODE.search(text) is None or text.isupper():
        return []
    small = translation.casefold()
    codes = _CODE.finditer(text)
    return [Span(*code.span()) for code in codes if not _occurs(code[0].casefold(), small)]


def torn_latin(text: str, translation: str) -> list[Span]:
    """The names of a text of which a translation into a script without spaces has a part only,
    without the first letters, and the acronyms that it lacks if they are no words."""
    found = _PART.findall(translation) if LATIN.search(translation) else ()
    parts = {part.casefold() for part in found}
    words = [*_PART.finditer(text)] if parts else []
    parts -= {word[0].casefold() for word in words}
    names = (
        Span(*word.span())
        for word in words
        if word[0][0].isupper() and any(part in word[0][1:].casefold() for part in parts)
    )
    return sorted({*names, *_lost_acronyms(text, translation.casefold())})


def may_tear(text: str) -> bool:
    """Whether there may be acronyms that a translation tears."""
    return _HAS_CAPITALS.search(text) is not None and not text.isupper()


def torn_acronyms(text: str, translation: str, language: str) -> list[Span]:
    """The acronyms of a text of which the translation has only some letters, or more than all,
    or others: DRR for DDR, FIFAFA for FIFA, TURY for TÜV."""
    if not may_tear(text):
        return []
    written = {one[0] for one in _CAPITALS.finditer(translation)}
    found = [
        one
        for one in _CAPITALS.finditer(text)
        if written.isdisjoint(_forms(one[0])) and not has_other(one[0])
    ]
    return [
        Span(*one.span())
        for one in found
        if any(_is_torn(one[0], other, language) for other in written)
    ]


def _forms(word: str) -> tuple[str, str]:
    """An acronym as it is, and without the ending of a plural or genitive."""
    return word, word.removesuffix("s")


def _is_torn(word: str, other: str, language: str) -> bool:
    """Whether another word is an acronym with letters less, more, or others behind the first one.
    Those that may also be a usual word, as WHO, have less: IST is IS in German."""
    is_part = _has_letters(word, other)
    is_like = word[0] == other[0] and word.isupper() and other.isupper()
    is_like = is_like and len(word) <= _LONGEST_LIKE
    if not (is_part or is_like or _has_letters(other, word)):
        return False
    is_rare = ShortTexts.load().frequency(word.casefold(), language) < _RARE
    return is_rare or (is_part and word in KNOWN_NAMES.get(language, ()))


def _has_letters(word: str, part: str) -> bool:
    """Whether a word has the letters of another one in their order."""
    letters = iter(word)
    return all(letter in letters for letter in part)


def _lost_acronyms(text: str, translation: str) -> Iterator[Span]:
    """Those that a translation in small letters lacks."""
    for found in _ACRONYM.finditer(text):
        small = found[0].casefold()
        if small not in translation and not ShortTexts.load().frequency(small, "en"):
            yield Span(*found.span())
