"""Glossaries as files: CSV, TSV and XLSX with a term a row, its source, its target, and
"case_sensitive" or not; terminology (TBX); and the terms of a translation memory (TMX)."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import regex

from model.text.languages import DETECTED
from service.documents.segments import decode
from service.errors import DocumentTooLarge, InvalidDocument, InvalidField, shown
from service.stores.glossary_rows import Pair
from service.stores.headings import Headings
from service.stores.rows import Row, read_rows, without_heading
from service.stores.tbx import read_tbx
from service.stores.tmx import Unit, read_tmx
from service.translation.glossary import GlossaryEntry, check_entries

CSV, TSV = "text/csv", "text/tab-separated-values"
TMX, TBX = "application/x-tmx", "application/x-tbx"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
GLOSSARY_FILES = {"csv": CSV, "tsv": TSV, "tmx": TMX, "tbx": TBX, "xlsx": XLSX}
"""The media types of files by their endings."""
_CASE_SENSITIVE = ("case_sensitive", "true", "1")
_ANY_CASE = ("", "false", "0")
_NUM_LANGUAGES = 2
"""After the target in files for DeepL."""
_TERM_CHARACTERS = 50
_NO_TERM = regex.compile(r"[.!?。！？…]$|[<\n\uFFFC]")


def read_entries(text: str, media_type: str, pair: Pair | None = None) -> list[GlossaryEntry]:
    """The terms of CSV or TSV; empty lines do not count. Raises InvalidField.

    Of four columns, as in files for DeepL, the last two are languages and are ignored. A heading
    with both languages of the pair says which columns they have.
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        rows = read_rows(lines, is_tsv=media_type == TSV, name="the glossary")
        return [*_entries(rows, pair)]
    except csv.Error as error:
        raise InvalidField(str(error)) from error


def read_terms(
    file: BinaryIO, media_type: str, pair: Pair, most: int | None = None
) -> list[GlossaryEntry]:
    """The terms of a file, at most so many. Raises InvalidField, InvalidDocument or
    DocumentTooLarge."""
    if media_type == TMX:
        return _distinct(_memory_terms(file, *pair), most)
    if media_type == TBX:
        return _distinct(read_tbx(file, *pair), most)
    if media_type == XLSX:
        from service.stores.sheets import read_sheet  # takes 20 ms, and few need it

        rows = (row for row in read_sheet(file) if any(row[1]))
        return _bounded(_entries(without_heading(rows), pair), most)
    return _bounded(read_entries(decode(file.read(), "auto").text, media_type, pair), most)


def read_glossary(
    path: Path, pair: Pair, suffix: str | None = None, most: int | None = None
) -> list[GlossaryEntry]:
    """The terms of a file, by its ending or this `suffix`. Raises ValueError with one sentence."""
    try:
        with path.open("rb") as file:
            media_type = glossary_media_type(suffix or path.suffix.lstrip("."))
            if media_type in (TMX, TBX) and pair[0] == DETECTED:
                raise InvalidField("it has terms of several languages; name the source language")
            entries = read_terms(file, media_type, pair, most)
        check_entries(entries, len(entries))
        return entries
    except (OSError, InvalidField, InvalidDocument, DocumentTooLarge) as error:
        raise ValueError(f"{path}: {error}") from error


def _bounded(entries: Iterable[GlossaryEntry], most: int | None) -> list[GlossaryEntry]:
    taken = [*itertools.islice(entries, None if most is None else most + 1)]
    _check_number(len(taken), most)
    return taken


def _distinct(units: Iterable[Unit], most: int | None) -> list[GlossaryEntry]:
    """Of several for one source the last."""
    terms: dict[str, str] = {}
    for unit in units:
        terms[unit.source] = unit.target
        _check_number(len(terms), most)
    return [GlossaryEntry(*term) for term in terms.items()]


def _check_number(num_terms: int, most: int | None) -> None:
    if most is not None and num_terms > most:
        raise InvalidField(f"the glossary must have at most {most} terms, and has more")


def _memory_terms(file: BinaryIO, source: str, target: str) -> Iterator[Unit]:
    """The short units of a translation memory without tags that are no sentences."""
    has_terms = False
    for unit in read_tmx(file, source, target):
        if unit is not None and _is_term(unit):
            has_terms = True
            yield unit
    if not has_terms:
        short = f"of at most {_TERM_CHARACTERS} characters that is no sentence"
        raise InvalidField(f"it has no unit from {source} to {target} {short}")


def _is_term(unit: Unit) -> bool:
    return all(len(side) <= _TERM_CHARACTERS and not _NO_TERM.search(side) for side in unit)


def glossary_media_type(suffix: str) -> str:
    """Of files with this ending, without a dot."""
    if suffix.lower() in ("tab", "txt"):
        return TSV
    return GLOSSARY_FILES.get(suffix.lower(), CSV)


def write_entries(entries: Sequence[GlossaryEntry], media_type: str) -> str:
    """The terms as a file; in TSV tabs and line breaks within a term become spaces."""
    if media_type == TSV:
        return "".join("\t".join(" ".join(c.split()) for c in _row(e)) + "\n" for e in entries)
    written = io.StringIO(newline="")
    csv.writer(written).writerows(map(_row, entries))
    return written.getvalue()


def _entries(rows: Iterator[Row], pair: Pair | None) -> Iterator[GlossaryEntry]:
    """The terms of rows with their numbers."""
    first = [*itertools.islice(rows, 2)]
    columns = _columns([cells for _, cells in first], pair) if pair else None
    if columns is None:
        yield from (_entry(row, number) for number, row in itertools.chain(first, rows))
        return
    marks = [c for c, cell in enumerate(first[0][1]) if cell.strip().lower() == _CASE_SENSITIVE[0]]
    for _, row in itertools.chain(first[1:], rows):
        source, target, *mark = (_cell(row, c) for c in (*columns, *marks[:1]))
        if source and target:  # else a language has no term of it
            is_marked = any(cell.lower() in _CASE_SENSITIVE for cell in mark)
            yield GlossaryEntry(source, target, is_marked)


def _cell(row: Sequence[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _columns(rows: Sequence[Sequence[str]], pair: Pair) -> tuple[int, int] | None:
    """Of the languages, if the first of two rows is a heading; files for DeepL have the languages
    in every row."""
    heading, *others = rows or [[]]
    found = Headings(*pair).columns(heading)
    if found is None or not others:
        return None
    return None if any(heading[c : c + 1] == others[0][c : c + 1] for c in found) else found


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
            f"{_CASE_SENSITIVE[0]}, nothing or two languages, or be a heading that names both "
            f"languages, got {shown(row)}"
        )
    return GlossaryEntry(source, target, mark in _CASE_SENSITIVE)


def _row(entry: GlossaryEntry) -> list[str]:
    mark = [_CASE_SENSITIVE[0]] if entry.case_sensitive else []
    return [entry.source.strip(), entry.target.strip(), *mark]
