"""Corpora in Parquet: every row is written once, in order, whatever the type of its text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.corpora.shards import Shard
from service.corpora.translations import Translation
from tests.service.corpora import runs
from tests.service.corpora.runs import UpperCase, content, options, run, texts, write_corpus


def test_parts_that_are_missing_are_written_again(tmp_path: Path) -> None:
    source, output = tmp_path / "source.parquet", tmp_path / "out"
    write_corpus(source, "parquet", texts(23))
    num_failed = run(source, output, options("parquet"))
    whole = content(output)
    assert len(whole) == 5
    for kept in range(5):
        for part in sorted(output.glob("part-*"))[kept:]:
            part.unlink()
        (output / ".unfinished").write_bytes(b"PAR1")
        assert run(source, output, options("parquet", resume=True)) == num_failed
        assert content(output) == whole


@pytest.mark.parametrize("part_rows", [1, 3, 4, 6])
@pytest.mark.parametrize("count", range(14))
def test_parts_of_any_length_have_all_rows(count: int, part_rows: int, tmp_path: Path) -> None:
    source, output = tmp_path / "source.parquet", tmp_path / "out"
    write_corpus(source, "parquet", texts(count))
    run(source, output, options("parquet", part_rows=part_rows))
    assert pq.read_table(output)["id"].to_pylist() == [*range(count)]
    assert len(content(output)) == max(1, -(-count // part_rows))


def test_shards_of_rows_in_their_order_are_the_whole(tmp_path: Path) -> None:
    source = tmp_path / "source.parquet"
    write_corpus(source, "parquet", texts(40))
    run(source, tmp_path / "whole", options("parquet"))
    rows: list[object] = []
    for place in range(7):
        run(source, tmp_path / str(place), options("parquet", shard=Shard(place, 7)))
        rows += pq.read_table(tmp_path / str(place)).to_pylist()
    assert rows == pq.read_table(tmp_path / "whole").to_pylist()


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    write_corpus(tmp_path / "source", "parquet", ["a", "b"])
    write_corpus(tmp_path / "other", "parquet", ["a", "c"])
    run(tmp_path / "source", tmp_path / "out", options("parquet"))
    with pytest.raises(ValueError, match="--resume goes on"):
        run(tmp_path / "source", tmp_path / "out", options("parquet"))
    with pytest.raises(ValueError, match="other columns"):
        run(tmp_path / "source", tmp_path / "out", options("parquet", resume=True, score=True))
    with pytest.raises(ValueError, match="not those of"):
        run(tmp_path / "other", tmp_path / "out", options("parquet", resume=True))
    with pytest.raises(ValueError, match="not those of"):  # the first row is not both
        run(
            tmp_path / "source",
            tmp_path / "out",
            options("parquet", resume=True, shard=Shard(0, 2)),
        )


def test_a_row_that_is_not_utf_8_fails_alone(tmp_path: Path) -> None:
    column = pa.array([b"one", b"\xff", b"two"]).cast(pa.large_binary()).view(pa.large_string())
    pq.write_table(pa.table({"text": column}), tmp_path / "rows")
    for resume in (False, True):
        chosen = options("parquet", resume=resume)
        assert run(tmp_path / "rows", tmp_path / "out", chosen) == 1
    (part,) = (tmp_path / "out").glob("part-*")
    assert pq.read_table(part)["translation"].to_pylist() == ["ONE", None, "TWO"]


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_string(), pa.string_view()),
        *(pa.binary(), pa.large_binary(), pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=str,
)
def test_a_column_of_any_type_of_text_is_translated_and_kept(
    kind: pa.DataType, tmp_path: Path
) -> None:
    rows = pa.table({"text": pa.array(["one", None, "", "größe", "one"]).cast(kind)})
    pq.write_table(rows, tmp_path / "rows", row_group_size=2)
    assert run(tmp_path / "rows", tmp_path / "out", options("parquet")) == 0
    written = pq.ParquetFile(tmp_path / "out" / "part-00000.parquet").read()
    assert written["translation"].to_pylist() == ["ONE", None, "", "GRÖSSE", "ONE"]
    assert written.select(["text"]) == rows


@pytest.mark.parametrize("values", [[1], [["a"]], [{"en": "a"}]])
def test_a_column_without_texts_is_refused(values: list[object], tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": values}), tmp_path / "rows")
    with pytest.raises(ValueError, match="the column 'text' of .*rows is .*, not text"):
        run(tmp_path / "rows", tmp_path / "out", options("parquet"))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 9])
def test_a_part_that_is_damaged_is_named(content: bytes, tmp_path: Path) -> None:
    write_corpus(tmp_path / "rows", "parquet", texts(3))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot go on with .*part-00000\.parquet: .*remove it"):
        run(tmp_path / "rows", tmp_path / "out", options("parquet", resume=True))


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "rows")
    with pytest.raises(ValueError, match="rows has several columns 'text'"):
        run(tmp_path / "rows", tmp_path / "out", options("parquet"))


def test_rows_of_any_size_take_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    class Measuring(UpperCase):
        def submit(
            self, texts: Sequence[str], source: str | None = None
        ) -> Future[list[Translation]]:
            taken.append(pa.total_allocated_bytes())
            return super().submit(texts, source)

    monkeypatch.setattr(runs, "UpperCase", Measuring)
    monkeypatch.setattr("service.corpora.parquet_part._GROUP_BYTES", 2**20)
    images = [os.urandom(2**16) for _ in range(640)]
    rows = pa.table({"text": ["a"] * len(images), "image": images})
    pq.write_table(rows, tmp_path / "rows", row_group_size=16)
    del rows
    before = pa.total_allocated_bytes()
    run(tmp_path / "rows", tmp_path / "out", options("parquet", part_rows=500))
    assert max(taken) - before < 2**23 < sum(map(len, images)) / 4
    written = [pq.ParquetFile(part).read() for part in sorted((tmp_path / "out").glob("part-*"))]
    assert [table.num_rows for table in written] == [500, 140]
    assert pa.concat_tables(written)["image"].to_pylist() == images
