"""A Parquet file that is written in pieces, since its rows may be larger than the memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

_GROUP_BYTES = 2**27


class ParquetPart:
    """The rows of one file after another. A file has another name until it is whole."""

    def __init__(self, unfinished: Path, schema: pa.Schema) -> None:
        self._unfinished, self._schema = unfinished, schema
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        """Rows that become a group, of so many bytes."""
        self._num_bytes = self.num_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()

    def add(self, rows: pa.Table) -> None:
        """Raises ValueError if they cannot be written."""
        self._waiting.append(rows)
        self.num_rows += rows.num_rows
        self._num_bytes += rows.nbytes
        if self._num_bytes >= _GROUP_BYTES:
            with self._naming_errors():
                self._write_group()

    def end(self, path: Path) -> None:
        """Give the file, which may have no rows, its name, and begin another. Raises ValueError."""
        with self._naming_errors():
            self._write_group().close()
            self._unfinished.replace(path)
        self._writer, self.num_rows = None, 0

    def _write_group(self) -> pq.ParquetWriter:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._unfinished, self._schema, compression="zstd")
        rows = pa.concat_tables([*self._waiting, self._schema.empty_table()])
        self._waiting.clear()
        self._num_bytes = 0
        if rows.num_rows:
            self._writer.write_table(rows)
        return self._writer

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"cannot write {self._unfinished.parent}: {reason}") from error
