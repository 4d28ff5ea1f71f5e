"""Rows of CSV and TSV files, as spreadsheets write them too."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator, Sequence

import regex

_LOOKED_AT = 50
_SEPARATORS = ",;\t"
"""Of CSV, the usual one first. Where numbers have a comma, spreadsheets write semicolons."""
_HEADING = ["source", "target"]
_NAMED_SEPARATOR = regex.compile(r'"?sep=([^"\r\n])"?[\r\n]*', regex.IGNORECASE)
Row = tuple[int, list[str]]
"""Its number, and the texts of its cells."""


def read_rows(lines: Iterable[str], *, is_tsv: bool, name: str = "the file") -> Iterator[Row]:
    """The rows that are not blank, and the number of the last line of each, without a heading
    `source,target`. Raises csv.Error, which tells the line of what has this name.

    TSV has no quotes. CSV is that of RFC 4180, with the separator that a first line such as `sep=;`
    names, or else the one that most of the first rows have.
    """
    return without_heading(_filled_rows(iter(lines), name, is_tsv=is_tsv))


def without_heading(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows without a heading `source,target`."""
    for number, row in itertools.islice(rows, 1):
        if [cell.strip().lower() for cell in row[:2]] != _HEADING:
            yield number, row
    yield from rows


def _filled_rows(lines: Iterator[str], name: str, *, is_tsv: bool) -> Iterator[Row]:
    number = 0
    try:
        first = [*itertools.islice(lines, _LOOKED_AT)]
        whole = itertools.chain(first, lines)
        if is_tsv:
            rows = csv.reader(whole, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(whole, delimiter=_separator(first), strict=True)
        for row in rows:
            number = rows.line_num
            if any(map(str.strip, row)):
                yield number, row
    except csv.Error as error:
        raise csv.Error(f"line {number + 1} of {name}: {error}") from error
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 ({error}); save it as UTF-8"
        raise csv.Error(f"after line {number} of {name}: {reason}") from error


def _separator(first: list[str]) -> str:
    """Empties the line that names it."""
    if first and (named := _NAMED_SEPARATOR.fullmatch(first[0])):
        first[0] = "\n"
        return named[1]
    return max(_SEPARATORS, key=lambda one: _shares_parted(first, one))


def _shares_parted(lines: Sequence[str], separator: str) -> tuple[float, float]:
    """Of the rows those that have two cells or more; and those with no space behind the first, as
    there is behind the comma of a sentence."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return 0, 0
    seconds = [row[1] for row in rows if len(row) > 1]
    tight = [cell for cell in seconds if not cell.startswith(" ")]
    return len(seconds) / max(1, len(rows)), len(tight) / max(1, len(rows))
