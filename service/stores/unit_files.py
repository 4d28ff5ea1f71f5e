"""Files of units: TMX, and TSV and CSV with a source and its translation a line."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from service.documents.encodings import unicode_encoding
from service.errors import InvalidDocument
from service.stores.rows import read_rows
from service.stores.tmx import MAX_UNIT_CHARACTERS, Unit, made_unit, read_tmx, write_tmx

UNIT_FILES = ("tmx", "tsv", "csv")
_MARK_BYTES = 3
_MAX_LINE = 4 * MAX_UNIT_CHARACTERS


def unit_file_type(path: Path) -> str:
    """One of UNIT_FILES, by the file's ending. Raises InvalidDocument."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in UNIT_FILES:
        raise InvalidDocument("its name must end in .tmx, .tsv or .csv, or --format say what it is")
    return suffix


def read_units(file: BinaryIO, kind: str, source: str, target: str) -> Iterator[Unit | None]:
    """The units of a file, None for one that cannot be used, while it is read. Raises
    InvalidDocument."""
    if kind == "tmx":
        return read_tmx(file, source, target)
    return _read_rows(file, kind)


def write_units(units: Iterable[Unit], kind: str, source: str, target: str) -> Iterator[str]:
    """The file in parts; in CSV no white space is around a text, and in TSV tabs and line breaks
    within it become spaces."""
    if kind == "tmx":
        yield from write_tmx(units, source, target)
        return
    for unit in units:
        if kind == "tsv":
            yield "\t".join(" ".join(side.split()) for side in unit) + "\n"
        else:
            written = io.StringIO(newline="")
            csv.writer(written).writerow(side.strip() for side in unit)
            yield written.getvalue()


def _read_rows(file: BinaryIO, kind: str) -> Iterator[Unit | None]:
    encoding, mark = unicode_encoding(file.read(_MARK_BYTES))
    file.seek(len(mark))
    text = io.TextIOWrapper(file, encoding, newline="")
    try:
        for _, row in read_rows(_lines(text), is_tsv=kind == "tsv"):
            yield made_unit(*itertools.islice([*row, ""], 2))
    except csv.Error as error:
        raise InvalidDocument(str(error)) from error
    finally:
        text.detach()  # else it closes the file


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(_MAX_LINE):
        if len(line) == _MAX_LINE and not line.endswith("\n"):
            raise csv.Error(f"a line has more than {_MAX_LINE} characters")
        yield line
