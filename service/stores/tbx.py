"""Terminology in TBX (ISO 30042): version 2 with its dialects such as TBX-Basic, and version 3,
where a category is an attribute (DCA) or an element of its own (DCT)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

import regex

from model.text.languages import Languages
from service.errors import InvalidDocument
from service.stores.tmx import Unit
from service.stores.xml_reader import MAX_TEXT, XmlReader, language_of

_CONCEPTS, _LANGUAGES = ("termEntry", "conceptEntry"), ("langSet", "langSec")
_TERMS = ("tig", "ntig", "termSec")
_STATUS = ("administrativeStatus", "normativeAuthorization")
_PREFERRED = regex.compile(r"\s*preferred", regex.IGNORECASE)
_FORBIDDEN = regex.compile(
    r"\s*(?:deprecated|superseded|obsolete|forbidden|not ?recommended)", regex.IGNORECASE
)
"""How values of the standard and of tools begin."""
_MOST_TERMS, _MOST_LANGUAGES = 1000, 50
"""Of a concept in one language; and of the languages that an error names."""


class _Term(NamedTuple):
    text: str
    is_exact: bool
    """Its language has the wanted code, not that of a variant."""
    is_preferred: bool


def read_tbx(file: BinaryIO, source: str, target: str) -> Iterator[Unit]:
    """Each source term of a concept with its target term, while the file is read.

    A variant of a language, such as en-US, is that language. Of several target terms those with the
    very code count, of these the preferred one, else the first. Terms that must not be used are
    left out. Raises InvalidDocument.
    """
    reader = _Reader(source, target)
    yield from reader.read(file)
    if not reader.has_units:
        got = ", ".join(reader.seen) or "none"
        raise InvalidDocument(f"it has no term from {source} to {target}; its languages: {got}")


class _Reader(XmlReader[Unit]):
    kind, roots = "TBX", ("martif", "tbx")

    def __init__(self, source: str, target: str) -> None:
        super().__init__()
        self._languages = Languages([source, target])
        self._sides = source, target
        self._language = self._read_element = self._term = self._status = ""
        self._terms: dict[str, list[_Term]] = {side: [] for side in self._sides}
        self.has_units = False
        self.seen: dict[str, None] = {}
        """The languages of the file."""

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name in _LANGUAGES:
            self._language = language_of(attributes)
            if len(self.seen) < _MOST_LANGUAGES:
                self.seen[self._language] = None
        elif name in _TERMS:
            self._term = self._status = ""
        elif name == "term" or attributes.get("type", name) in _STATUS:
            self._read_element = name
            self.begin_text()

    def close(self, name: str) -> None:
        if name in _CONCEPTS:
            self._end_concept()
        elif name in _TERMS:
            self._end_term()
        elif self.has_text and name == self._read_element:
            self._take_text(self.end_text())

    def _take_text(self, text: str | None) -> None:
        if text is None:
            raise self.refused(f"a term has more than {MAX_TEXT} characters")
        if self._read_element == "term":
            self._term = " ".join(text.split())
        else:
            self._status = text

    def _end_term(self) -> None:
        side = self._languages.find(self._language)
        if side is None or not self._term or _FORBIDDEN.match(self._status):
            return
        if len(self._terms[side]) == _MOST_TERMS:
            raise self.refused(f"a concept has more than {_MOST_TERMS} terms in {side}")
        is_exact = self._language.lower() == side.lower()
        is_preferred = _PREFERRED.match(self._status) is not None
        self._terms[side].append(_Term(self._term, is_exact, is_preferred))

    def _end_concept(self) -> None:
        sources, targets = (self._terms[side] for side in self._sides)
        if sources and targets:
            self.has_units = True
            best = max(targets, key=lambda term: term[1:])  # the first of them
            self.found.extend(Unit(term.text, best.text) for term in sources)
        self._terms = {side: [] for side in self._sides}
