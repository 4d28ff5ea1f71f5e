"""CSV, TSV and XLSX: texts of cells are translated; the table and its other values stay."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.translation.documents.samples import (
    CSV,
    OPTIONS,
    SAMPLES,
    SHEET,
    STRINGS,
    member,
    parse_file,
    texts_of,
    translated,
)

CELLS = st.lists(st.sampled_from([*"ab1 ,;\t|\n'=\"", "\r\n"]), max_size=6).map("".join)


def rows(content: bytes, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=4),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.text(st.sampled_from('ab",\t\n'), min_size=1, max_size=5),
)
def test_a_table_keeps_its_cells(table: list[list[str]], quoting: int, translation: str) -> None:
    """Whatever translations have in them."""
    written = io.StringIO()
    csv.writer(written, delimiter="\t", quoting=quoting).writerows(table)
    content = written.getvalue().encode()
    parsed = parse_file(content, "a.tsv", OPTIONS)
    done = rows(parsed.write([translation] * len(parsed.segments)), "\t")
    texts = [segment.text for segment in parsed.segments]
    for row, new_row in zip(rows(content, "\t"), done, strict=True):
        for value, new in zip(row, new_row, strict=True):
            assert new == (translation if value in texts else value)


def test_quotes_and_values_stay() -> None:
    assert translated("a.csv", CSV) == CSV.replace(b"id,", b"ID,").replace(
        b"Name", b"NAME"
    ).replace(b"What it is", b"WHAT IT IS").replace(b"The sea", b"THE SEA").replace(
        b'"Deep, ""blue"" water"', b'"DEEP, ""BLUE"" WATER"'
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_that_of_the_first_line(delimiter: str) -> None:
    content = f'"one, two"{delimiter}b{delimiter}c\nd;e, f|g{delimiter}h\n'
    texts = [value for row in rows(content.encode(), delimiter) for value in row]
    assert texts_of("a.csv", content.encode()) == texts


def test_a_workbook_keeps_formulas_numbers_and_the_titles_of_tables() -> None:
    assert texts_of("a.xlsx", SAMPLES["a.xlsx"]) == [
        "The sea",
        'very <span i="0">deep</span>',
        "The sky",
    ]
    done = translated("a.xlsx", SAMPLES["a.xlsx"])
    assert member(done, "xl/worksheets/sheet1.xml") == SHEET.replace(b"The sky", b"THE SKY")
    strings = member(done, "xl/sharedStrings.xml")
    assert strings.replace(b"\n", b" ") == STRINGS.replace(b"\n", b" ").replace(
        b"The sea", b"THE SEA"
    ).replace(b"very", b"VERY").replace(b"deep", b"DEEP")
