"""Parquet: a file of rows, and a directory of files with the rows and their translations.

A Parquet file cannot be read before it is whole, so each part is written under another name first.
The rows of the parts tell what is done.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from service.corpora.corpus import CorpusBatch
from service.corpora.line_files import lock
from service.corpora.line_formats import AddedColumns, CorpusError
from service.corpora.parquet_part import ParquetPart
from service.corpora.shards import Shard
from service.corpora.translations import Translation

_BATCH_ROWS, _BUFFER_BYTES = 128, 2**20
_TEXTS = {pa.null(), pa.string(), pa.large_string(), pa.string_view()}
_BYTES = {pa.binary(), pa.large_binary(), pa.binary_view()}
"""Some programs write texts as bytes."""


class ParquetCorpus:
    """The rows of a file's shard and their translations, in parts of so many rows."""

    def __init__(
        self,
        source: Path,
        directory: Path,
        column: str,
        columns: AddedColumns,
        shard: Shard,
        part_rows: int,
        *,
        resumes: bool,
    ) -> None:
        """Raises ValueError."""
        self._name, self._column, self._columns = source, column, columns
        self._part_rows, self.batch_records = part_rows, min(_BATCH_ROWS, part_rows)
        self._directory = directory
        with contextlib.ExitStack() as stack:
            self._source = stack.enter_context(_opened(source))
            self._path = _path(self._source.schema_arrow.names, column)
            self._require_column()
            self._begin, self._end = shard.of(self._source.metadata.num_rows)
            descriptor = _made(directory)
            stack.callback(os.close, descriptor)
            lock(descriptor, directory)
            self._parts = _parts(directory)
            if self._parts and not resumes:
                raise ValueError(f"{directory} has parts already; --resume goes on with them")
            self.num_done = sum(map(_num_rows, self._parts))
            self.num_failed = sum(map(self._failed_in, self._parts))
            schema = self._translated(self._empty, []).schema
            self._part = stack.enter_context(ParquetPart(directory / ".unfinished", schema))
            self._opened = stack.pop_all()

    def _require_column(self) -> None:
        """Raises CorpusError."""
        names = self._source.schema_arrow.names
        kind = _kind(self._source.schema_arrow, self._path)
        if names.count(self._column) > 1:
            raise CorpusError(f"{self._name} has several columns {self._column!r}")
        if kind is None:
            shown = ", ".join(names)
            raise CorpusError(f"{self._name} has no column {self._column!r}; it has {shown}")
        self._columns.require_new(names)
        if (kind.value_type if pa.types.is_dictionary(kind) else kind) not in _TEXTS | _BYTES:
            raise CorpusError(f"the column {self._column!r} of {self._name} is {kind}, not text")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _failed_in(self, part: Path) -> int:
        """Raises ValueError if it has other columns than those to write."""
        if pq.read_schema(part).names != self._translated(self._empty, []).schema.names:
            raise ValueError(f"{part} has other columns than what would be written now")
        errors = pq.read_table(part, columns=[self._columns.error])[0]
        return int(len(errors) - errors.null_count)

    @property
    def _empty(self) -> pa.Table:
        return self._source.schema_arrow.empty_table()

    def batches(self) -> Iterator[CorpusBatch[pa.Table]]:
        self._require_same()
        position = self._begin + self.num_done
        for table in self._tables(position, self._end):
            position += table.num_rows
            fraction = (position - self._begin) / (self._end - self._begin)
            values = self._values(table)
            errors = {
                place: f"it is not UTF-8 in the column {self._column!r}"
                for place, value in enumerate(values)
                if isinstance(value, bytes)
            }
            texts = [None if place in errors else value for place, value in enumerate(values)]
            yield CorpusBatch(texts, table, errors, fraction)

    def _tables(self, begin: int, end: int) -> Iterator[pa.Table]:
        """The rows between two of the file, some at a time."""
        metadata = self._source.metadata
        first = 0
        groups = []
        for group in range(metadata.num_row_groups):
            after = first + metadata.row_group(group).num_rows
            if after > begin and first < end:
                groups.append((group, first))
            first = after
        position = groups[0][1] if groups else end
        batches = self._source.iter_batches(self.batch_records, [group for group, _ in groups])
        for batch in _naming_errors(batches, self._name):
            rows = pa.Table.from_batches([batch])
            wanted = rows.slice(max(0, begin - position), max(0, end - max(begin, position)))
            position += rows.num_rows
            if wanted.num_rows:
                yield wanted

    def _require_same(self) -> None:
        """Raise ValueError unless the last part is of this file."""
        if not self._parts:
            return
        last = pq.read_table(self._parts[-1], columns=self._path[:1])
        end = self._begin + self.num_done
        rows = self._tables(end - last.num_rows, end)
        expected = [value for table in rows for value in self._values(table)]
        if end > self._end or expected != self._values(last):
            raise ValueError(f"the parts in {self._directory} are not those of {self._name}")

    def _values(self, rows: pa.Table) -> list[Any]:
        name, *within = self._path
        return _values(pc.struct_field(rows[name], within) if within else rows[name])

    def write(self, batch: CorpusBatch[pa.Table], translations: Sequence[Translation]) -> None:
        rows = self._translated(batch.kept, translations)
        while rows.num_rows:
            room = self._part_rows - self._part.num_rows
            self._part.add(rows.slice(0, room))
            rows = rows.slice(room)
            if self._part.num_rows == self._part_rows:
                self._end_part()

    def finish(self) -> None:
        """Write the last part; an empty file has one without rows."""
        if self._part.num_rows or not self._parts:
            self._end_part()

    def _translated(self, rows: pa.Table, translations: Sequence[Translation]) -> pa.Table:
        columns = self._columns

        def add(name: str, values: list[Any], kind: pa.DataType) -> None:
            nonlocal rows
            rows = rows.append_column(name, pa.array(values, kind))

        add(columns.translation, [one.text for one in translations], pa.string())
        if columns.has_score:
            add(columns.score, [one.score for one in translations], pa.float64())
        if columns.has_checks:
            add(columns.checks, [one.checks for one in translations], pa.list_(pa.string()))
        add(columns.error, [one.error or None for one in translations], pa.string())
        return rows

    def _end_part(self) -> None:
        part = self._directory / f"part-{len(self._parts):05}.parquet"
        self._part.end(part)
        self._parts.append(part)


def _opened(source: Path) -> pq.ParquetFile:
    try:  # pre_buffer keeps all that was read
        return pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"cannot read {source}: {error}") from error


def _naming_errors(batches: Iterator[pa.RecordBatch], source: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"cannot read {source}: {error}") from error


def _path(names: Sequence[str], column: str) -> Sequence[str]:
    """A column's name, or, without one of that name, its parts between dots: of a column, and of
    fields within."""
    return [column] if column in names else column.split(".")


def _kind(schema: pa.Schema, path: Sequence[str]) -> pa.DataType | None:
    """The type of a column; None if there is none of that name, or there are several."""
    kind: Any = schema
    for name in path:
        has_fields = isinstance(kind, pa.Schema | pa.StructType)
        place = kind.get_field_index(name) if has_fields else -1
        if place < 0:
            return None
        kind = kind.field(place).type
    return kind


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The texts of a column; bytes for those that are not UTF-8."""
    try:
        found = column.to_pylist()
    except UnicodeDecodeError:
        found = column.cast(pa.large_binary()).to_pylist()
    return [_decoded(one) if isinstance(one, bytes) else one for one in found]


def _decoded(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _num_rows(part: Path) -> int:
    try:
        return int(pq.read_metadata(part).num_rows)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"cannot go on with {part}: {error}; remove it") from error


def _made(directory: Path) -> int:
    """The descriptor of a directory, which is made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise ValueError(f"cannot write {directory}: {error.strerror or error}") from error


def _parts(directory: Path) -> list[Path]:
    """In order. Raises ValueError if one is missing."""
    parts = sorted(directory.glob("part-*.parquet"))
    for number, part in enumerate(parts):
        if part.name != f"part-{number:05}.parquet":
            raise ValueError(f"{directory} has no part-{number:05}.parquet before {part.name}")
    return parts
