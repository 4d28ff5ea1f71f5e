"""Glossaries: how terms of the source are to be translated, and where they stand in a sentence.

A term is found by its words. Where the language inflects, words that differ only in a regular
ending count as the same: the rules are few, because a wrong match forces a wrong translation.
Stemmers such as Snowball's match more, also "organ" and "organization".
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import regex

from model.text.normalisation import normalise
from model.text.spans import Span
from service.errors import InvalidField, shown
from service.translation.automaton import Automaton
from service.translation.language.codes import primary
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

    @functools.cached_property
    def growth(self) -> float:
        """How many times its terms the translations are long, at least 1."""
        num_characters = sum(len(entry.source) for entry in self.entries)
        return max(1.0, sum(len(entry.target) for entry in self.entries) / max(1, num_characters))

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


class _Numbered(NamedTuple):
    """An entry; of several for the same words the last one counts."""

    number: int
    entry: GlossaryEntry


class _Terms:
    """Entries by the words of their sources."""

    def __init__(self, terms: Iterable[tuple[Sequence[str], _Numbered]]) -> None:
        self._entries: dict[tuple[str, ...], list[_Numbered]] = {}
        for words, numbered in terms:
            self._entries.setdefault(tuple(words), []).append(numbered)
        self._automaton = Automaton([words[::-1] for words in self._entries])

    def lengths(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """At each place the lengths of the terms that begin there, longest first."""
        return list(self._automaton.lengths(reversed(words)))[::-1]

    def at(self, words: Sequence[str], place: int, length: int) -> Sequence[_Numbered]:
        """The entries of the term of this length that begins at the place."""
        return self._entries[tuple(words[place : place + length])]


class GlossaryMatcher:
    """Finds the entries of a glossary in sentences of one language, in time linear in the sentence
    and independent of the number of entries."""

    def __init__(self, entries: Sequence[GlossaryEntry], language: str) -> None:
        """Of several entries for the same term the last one counts."""
        self._language = primary(language)
        distinct = {(entry.source, entry.case_sensitive): entry for entry in entries}
        self._entries = list(map(_Numbered, itertools.count(), distinct.values()))
        self._as_written = _Terms(
            (_WORD.findall(normalise(one.entry.source)), one)
            for one in self._entries
            if one.entry.case_sensitive
        )
        self._by_stem = self._stemmed(one for one in self._entries if not one.entry.case_sensitive)

    def find(self, text: str, *, ignores_case: bool = False) -> list[Match]:
        """The terms of a sentence, leftmost first, of several the longest; they do not overlap.

        `ignores_case`: the sentence was in capitals, so that nothing is known of its case.
        """
        words, found, place = list(_words(text)), [], 0
        sides = [
            (terms, keys, terms.lengths(keys)) for terms, keys in self._sides(words, ignores_case)
        ]
        while place < len(words):
            longest = [
                (lengths[place][0], terms.at(keys, place, lengths[place][0])[-1])
                for terms, keys, lengths in sides
                if lengths[place]
            ]
            length, numbered = max(longest, default=(1, None))
            if numbered is not None:
                end = words[place + length - 1].end
                found.append(Match(words[place].start, end, numbered.entry))
            place += length
        return found

    def find_each(self, text: str) -> dict[GlossaryEntry, list[Span]]:
        """The spans of each entry that the text has, as if the glossary had no other."""
        words = list(_words(text))
        found: dict[GlossaryEntry, list[Span]] = {}
        for terms, keys in self._sides(words, ignores_case=False):
            for place, lengths in enumerate(terms.lengths(keys)):
                for length in lengths:
                    span = Span(words[place].start, words[place + length - 1].end)
                    for _, entry in terms.at(keys, place, length):
                        spans = found.setdefault(entry, [])
                        if not spans or spans[-1].end <= span.start:
                            spans.append(span)
        return found

    def _sides(
        self, words: Sequence[_Word], ignores_case: bool
    ) -> Iterator[tuple[_Terms, Sequence[str]]]:
        """Terms, and the words as those are compared with them."""
        stems = [self._key(word.text) for word in words]
        if ignores_case:
            yield self._all_by_stem, stems
        else:
            yield self._as_written, [word.text for word in words]
            yield self._by_stem, stems

    @functools.cached_property
    def _all_by_stem(self) -> _Terms:
        return self._stemmed(self._entries)

    def _stemmed(self, entries: Iterable[_Numbered]) -> _Terms:
        return _Terms(
            ([self._key(word) for word in _WORD.findall(normalise(one.entry.source))], one)
            for one in entries
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
