"""Glossaries: how terms of the source are to be translated, and where they stand in a sentence.

A term is found by its words. Where the language inflects, words that differ only in a regular
ending count as the same: the rules are few, because a wrong match forces a wrong translation.
Stemmers such as Snowball's match more, also "organ" and "organization".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import regex

from service.errors import InvalidField, shown
from service.translation.markup.flow import MARK

MAX_TERMS, MAX_TERM_CHARACTERS = 1000, 200
"""Of a glossary in a request."""
_WORD = regex.compile(
    r"(?V1)[\p{Han}\p{Hiragana}\p{Thai}]|[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Thai}]]+|[^\s]"
)
_LEAST_STEM = 4


class GlossaryEntry(NamedTuple):
    """A term and its translation; `case_sensitive`: it is found only as it is written."""

    source: str
    target: str
    case_sensitive: bool = False


@dataclass(frozen=True)
class Glossary:
    """The terms of a request. `pair`: the languages of a stored glossary, None for others."""

    entries: Sequence[GlossaryEntry]
    name: str | None = None
    pair: tuple[str, str] | None = None
    _matchers: dict[str, GlossaryMatcher] = field(default_factory=dict, compare=False)

    def matcher(self, language: str) -> GlossaryMatcher:
        """The matcher for sentences of this language, made once."""
        if language not in self._matchers:
            self._matchers[language] = GlossaryMatcher(self.entries, language)
        return self._matchers[language]


class Match(NamedTuple):
    """text[start:end] is an entry's source."""

    start: int
    end: int
    entry: GlossaryEntry


class _Word(NamedTuple):
    text: str
    start: int
    end: int


class _Pattern(NamedTuple):
    """The words of an entry's source."""

    words: tuple[str, ...]
    entry: GlossaryEntry


class GlossaryMatcher:
    """Finds the entries of a glossary in sentences of one language, in time linear in the
    sentence, times the entries that begin with the same word."""

    def __init__(self, entries: Sequence[GlossaryEntry], language: str) -> None:
        """Of several entries for the same term the last one counts."""
        self._language = language.split("-")[0].lower()
        self._patterns: dict[str, list[_Pattern]] = {}
        distinct = {(entry.source, entry.case_sensitive): entry for entry in entries}
        for entry in distinct.values():
            words = tuple(word.text for word in _words(entry.source))
            self._patterns.setdefault(self._key(words[0]), []).append(_Pattern(words, entry))
        for patterns in self._patterns.values():
            patterns.reverse()
            patterns.sort(key=lambda pattern: len(pattern.words), reverse=True)

    def find(self, text: str, *, ignores_case: bool = False) -> list[Match]:
        """The terms of a sentence, leftmost first, of several the longest; they do not overlap.

        `ignores_case`: the sentence was in capitals, so that nothing is known of its case.
        """
        words, found, place = list(_words(text)), [], 0
        while place < len(words):
            pattern = self._longest(words, place, ignores_case=ignores_case)
            if pattern is None:
                place += 1
                continue
            last = place + len(pattern.words)
            found.append(Match(words[place].start, words[last - 1].end, pattern.entry))
            place = last
        return found

    def _longest(
        self, words: Sequence[_Word], place: int, *, ignores_case: bool
    ) -> _Pattern | None:
        for pattern in self._patterns.get(self._key(words[place].text), ()):
            part = words[place : place + len(pattern.words)]
            if len(part) == len(pattern.words) and self._is_match(pattern, part, ignores_case):
                return pattern
        return None

    def _is_match(self, pattern: _Pattern, words: Sequence[_Word], ignores_case: bool) -> bool:
        if pattern.entry.case_sensitive and not ignores_case:
            return all(one == word.text for one, word in zip(pattern.words, words, strict=True))
        return all(
            self._key(one) == self._key(word.text)
            for one, word in zip(pattern.words, words, strict=True)
        )

    def _key(self, word: str) -> str:
        return stem(word, self._language)


def check_entries(entries: Sequence[GlossaryEntry], most: int, field: str = "glossary") -> None:
    """Raises InvalidField for too many or too long terms, for empty ones, and for MARK in one."""
    if len(entries) > most:
        raise InvalidField(f"{field} must have at most {most} terms, got {len(entries)}")
    for number, entry in enumerate(entries, 1):
        for side, text in (("source", entry.source), ("target", entry.target)):
            if not 0 < len(text.strip()) <= len(text) <= MAX_TERM_CHARACTERS or MARK in text:
                raise InvalidField(
                    f"{field}: {side} of term {number} must have 1 to {MAX_TERM_CHARACTERS} "
                    f"characters that are not all spaces, and no U+FFFC, got {shown(text)}"
                )


def stem(word: str, language: str) -> str:
    """The word in small letters, without a regular ending of English or German nouns."""
    small = word.casefold()
    if language == "en":
        return _english(small)
    return _german(word, small) if language == "de" else small


def _english(word: str) -> str:
    if len(word) < _LEAST_STEM or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > _LEAST_STEM:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def _german(word: str, small: str) -> str:
    """Without a case or plural ending, and of nouns without the plural's umlaut."""
    for ending in ("ern", "en", "er", "es", "e", "n", "s"):
        if small.endswith(ending) and len(small) - len(ending) >= _LEAST_STEM:
            small = small.removesuffix(ending)
            return small.translate(_WITHOUT_UMLAUT) if word[0].isupper() else small
    return small


_WITHOUT_UMLAUT = str.maketrans("äöü", "aou")


def _words(text: str) -> Iterator[_Word]:
    """Words, single letters of scripts without spaces, and marks."""
    for match in _WORD.finditer(text):
        yield _Word(match.group(), *match.span())
