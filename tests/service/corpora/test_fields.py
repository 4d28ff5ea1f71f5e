"""Where the text of a record is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.corpora.runs import options, run

_Rows = Sequence[dict[str, object]]


def _write(path: Path, corpus_format: str, rows: _Rows) -> None:
    if corpus_format == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _read(path: Path, corpus_format: str) -> _Rows:
    if corpus_format == "parquet":
        rows: _Rows = pq.read_table(path).drop_columns("translation_error").to_pylist()
        return rows
    return [*map(json.loads, path.read_text().splitlines())]


@pytest.mark.parametrize("corpus_format", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("rows", "translations"),
    [
        (
            [{"a": {"b": "one"}}, {"a": {"b": None}}, {"a": None}, {"a": {"b": "two"}}],
            ["ONE", None, None, "TWO"],
        ),
        ([{"a": {"b": "within"}, "a.b": "own"}], ["OWN"]),
        ([{"a": "a", "a.b": "own"}], ["OWN"]),
    ],
)
def test_dots_lead_to_a_field_within_others_unless_one_has_that_name(
    corpus_format: str, rows: _Rows, translations: Sequence[str | None], tmp_path: Path
) -> None:
    source, output = tmp_path / "source", tmp_path / "out"
    _write(source, corpus_format, rows)
    for resume in (False, True):
        assert run(source, output, options(corpus_format, field="a.b", resume=resume)) == 0
    added = [{"translation": one} for one in translations]
    assert _read(output, corpus_format) == [row | one for row, one in zip(rows, added, strict=True)]


@pytest.mark.parametrize("rows", [[{"a": "text"}], [{"a": {"c": "text"}}], [{"b": "text"}]])
def test_dots_that_lead_nowhere_are_named(rows: _Rows, tmp_path: Path) -> None:
    for corpus_format in ("jsonl", "parquet"):
        _write(tmp_path / corpus_format, corpus_format, rows)
    assert run(tmp_path / "jsonl", tmp_path / "out.jsonl", options("jsonl", field="a.b")) == 1
    (written,) = _read(tmp_path / "out.jsonl", "jsonl")
    assert "it has no text in the field 'a.b'" in str(written["translation_error"])
    with pytest.raises(ValueError, match=r"has no column 'a\.b'"):
        run(tmp_path / "parquet", tmp_path / "out", options("parquet", field="a.b"))
