"""Glossaries as CSV and TSV: a term a line, its source, its target, and "case_sensitive" or not;
and the terms of a translation memory."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import regex

from service.documents.segments import decode
from service.errors import InvalidDocument, InvalidField, shown
from service.stores.glossary_rows import MAX_ENTRIES
from service.stores.rows import read_rows
from service.stores.tmx import Unit, read_tmx
from service.translation.glossary import GlossaryEntry, check_entries

CSV, TSV = "text/csv", "text/tab-separated-values"
_CASE_SENSITIVE = ("case_sensitive", "true", "1")
_ANY_CASE = ("", "false", "0")
_NUM_LANGUAGES = 2
"""After the target in files for DeepL."""
_TERM_CHARACTERS = 50
_NO_TERM = regex.compile(r"[.!?。！？…]$|[<\n\uFFFC]")


def read_entries(text: str, media_type: str) -> list[GlossaryEntry]:
    """The terms of a file; empty lines do not count. Raises InvalidField.

    Of four columns, as in files for DeepL, the last two
    are languages and are ignored.
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        rows = read_rows(lines, is_tsv=media_type == TSV, name="the glossary")
        return [_entry(row, number) for number, row in rows]
    except csv.Error as error:
        raise InvalidField(str(error)) from error


def read_glossary(path: Path, suffix: str | None = None) -> list[GlossaryEntry]:
    """The terms of a file, by its ending or this `suffix`. Raises ValueError with one sentence."""
    try:
        text = decode(path.read_bytes(), "auto").text
        entries = read_entries(text, glossary_media_type(suffix or path.suffix.lstrip(".")))
        check_entries(entries, len(entries))
        return entries
    except (OSError, InvalidField, InvalidDocument) as error:
        raise ValueError(f"{path}: {error}") from error


def read_memory(path: Path, source: str, target: str) -> list[GlossaryEntry]:
    """The terms of a TMX file: its short units without tags that are no sentences. Raises
    ValueError with one sentence."""
    terms: dict[str, str] = {}
    try:
        with path.open("rb") as file:
            for unit in read_tmx(file, source, target):
                if unit is not None and _is_term(unit):
                    terms[unit.source] = unit.target
                if len(terms) > MAX_ENTRIES:
                    raise InvalidField(f"it has more than {MAX_ENTRIES} terms")
        if not terms:
            short = f"of at most {_TERM_CHARACTERS} characters that is no sentence"
            raise InvalidField(f"it has no unit from {source} to {target} {short}")
    except (OSError, InvalidField, InvalidDocument) as error:
        raise ValueError(f"{path}: {error}") from error
    return [GlossaryEntry(*term) for term in terms.items()]


def _is_term(unit: Unit) -> bool:
    return all(len(side) <= _TERM_CHARACTERS and not _NO_TERM.search(side) for side in unit)


def glossary_media_type(suffix: str) -> str:
    """Of files with this ending, without a dot."""
    return TSV if suffix.lower() in ("tsv", "tab", "txt") else CSV


def write_entries(entries: Sequence[GlossaryEntry], media_type: str) -> str:
    """The terms as a file; in TSV tabs and line breaks within a term become spaces."""
    if media_type == TSV:
        return "".join("\t".join(" ".join(c.split()) for c in _row(e)) + "\n" for e in entries)
    written = io.StringIO(newline="")
    csv.writer(written).writerows(map(_row, entries))
    return written.getvalue()


def _entry(row: Sequence[str], number: int) -> GlossaryEntry:
    if len(row) < 2:
        raise InvalidField(
            f"line {number} of the glossary must have a source and a target, got {shown(row)}"
        )
    source, target, *cells = (cell.strip() for cell in row)
    others = [*itertools.dropwhile(lambda cell: not cell, reversed(cells))][::-1]
    mark = others[0].lower() if len(others) == 1 else ""
    if mark not in (*_CASE_SENSITIVE, *_ANY_CASE) or len(others) > _NUM_LANGUAGES:
        raise InvalidField(
            f"line {number} of the glossary must have a source, a target, and then "
            f"{_CASE_SENSITIVE[0]}, nothing or two languages, got {shown(others)}"
        )
    return GlossaryEntry(source, target, mark in _CASE_SENSITIVE)


def _row(entry: GlossaryEntry) -> list[str]:
    mark = [_CASE_SENSITIVE[0]] if entry.case_sensitive else []
    return [entry.source.strip(), entry.target.strip(), *mark]
