"""Translate a corpus on a Ray cluster.

    python deploy/ray/bulk.py --from en --to de --workers 8 s3://corpora/web/ s3://corpora/web-de/

Each worker has an engine of its own. Ray Data gives it rows, starts another worker if one ends, and
repeats what that one had not finished. docs/ray.md tells the rest.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import ray
from ray.data.datasource import BlockBasedFileDatasink, FileBasedDatasource

from model.checkpoint.bundled import BUNDLED_NAMES
from service.corpora.corpus import CorpusBatch
from service.corpora.line_formats import AddedColumns, JsonLines
from service.corpora.run import translate_batch
from service.corpora.translators import translators_of
from service.offline import OfflineOptions

_BATCHES_OF_A_WORKER = 2
"""At the same time, so that the engine is never out of sentences."""
_LINE, _LINES_OF_A_BLOCK = "line", 4096


class Translator:
    """A worker: adds the translations of a column to each batch of rows."""

    def __init__(
        self, source: str, target: str, models: list[str], column: str, columns: AddedColumns
    ) -> None:
        self._column, self._columns = column, columns
        paths = [Path(model) for model in models]
        translators = translators_of(paths, OfflineOptions(), source, target, in_one_process=True)
        self._opened = contextlib.ExitStack()
        self._translators = self._opened.enter_context(translators)

    def __call__(self, rows: pa.Table) -> pa.Table:
        values = rows[self._column].to_pylist()
        texts = [value if isinstance(value, str) else None for value in values]
        errors = {
            place: f"it has no text in the column {self._column!r}"
            for place, value in enumerate(values)
            if not (value is None or isinstance(value, str))
        }
        done = translate_batch(CorpusBatch(texts, rows, errors), self._translators)
        added = {
            self._columns.translation: [one.text for one in done],
            self._columns.error: [one.error or None for one in done],
        }
        for name, written in added.items():
            rows = rows.append_column(name, pa.array(written, pa.string()))
        return rows


class LineTranslator(Translator):
    """A worker whose rows are lines of JSONL, which are kept byte for byte."""

    def __call__(self, rows: pa.Table) -> pa.Table:
        lines = JsonLines(self._column, self._columns)
        records = [lines.read(line) for line in rows[_LINE].to_pylist()]
        errors = {place: record.error for place, record in enumerate(records) if record.error}
        batch = CorpusBatch([record.text for record in records], records, errors)
        done = translate_batch(batch, self._translators)
        written = [*map(lines.write, records, done)]
        return pa.table({_LINE: pa.array(written, pa.binary())})


class LineSource(FileBasedDatasource):
    """Reads lines that are not empty. Ray's own reader of JSON makes numbers of dates."""

    def _read_stream(self, f: pa.NativeFile, path: str) -> Iterator[pa.Table]:
        lines = (line.rstrip(b"\r\n") for line in io.BufferedReader(f))
        filled = filter(bytes.strip, lines)
        while block := [*itertools.islice(filled, _LINES_OF_A_BLOCK)]:
            yield pa.table({_LINE: pa.array(block, pa.binary())})


class LineOutput(BlockBasedFileDatasink):
    """Writes lines into a directory."""

    def __init__(self, path: str) -> None:
        super().__init__(path, file_format="jsonl")

    def write_block_to_file(self, block: ray.data.block.BlockAccessor, file: pa.NativeFile) -> None:
        for line in block.to_arrow()[_LINE].to_pylist():
            file.write(line + b"\n")


def _read(corpus: str, format: str, column: str, columns: AddedColumns) -> ray.data.Dataset:
    """Raises UsageError."""
    if format == "jsonl":
        return ray.data.read_datasource(LineSource(corpus))
    rows = ray.data.read_parquet(corpus)
    if column not in (names := rows.schema().names):
        raise click.UsageError(f"{corpus} has no column {column!r}; it has {', '.join(names)}")
    try:
        columns.require_new(names)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return rows


@click.command()
@click.argument("corpus")
@click.argument("output")
@click.option("--from", "source", required=True, help="Language code of the texts.")
@click.option("--to", "target", required=True, help="Language code to translate into.")
@click.option("--model", "models", multiple=True, default=BUNDLED_NAMES, help="On every node.")
@click.option("--format", type=click.Choice(["parquet", "jsonl"]), default="parquet")
@click.option("--column", default="text", show_default=True, help="The column with the texts.")
@click.option("--into", default="translation", show_default=True, help="The column to write.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option("--cpus", type=click.IntRange(1), default=1, show_default=True, help="Of a worker.")
@click.option("--gpus", type=click.FloatRange(0, 1), default=0.0, help="Of a worker.")
@click.option("--batch-rows", type=click.IntRange(1), default=1024, show_default=True)
def bulk(
    corpus: str,
    output: str,
    source: str,
    target: str,
    models: tuple[str, ...],
    format: str,
    column: str,
    into: str,
    workers: int,
    cpus: int,
    gpus: float,
    batch_rows: int,
) -> None:
    """Translate the files of CORPUS, a path or a URL, into the directory OUTPUT, in order."""
    ray.init(ignore_reinit_error=True)
    if workers * cpus >= (there := ray.cluster_resources()["CPU"]):
        raise click.UsageError(
            f"{workers} workers of {cpus} CPUs leave none of {there:.0f} to read and write"
        )
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    columns = AddedColumns(into)
    translated = _read(corpus, format, column, columns).map_batches(
        LineTranslator if format == "jsonl" else Translator,
        fn_constructor_args=(source, target, [*models], column, columns),
        batch_format="pyarrow",
        batch_size=batch_rows,
        compute=ray.data.ActorPoolStrategy(
            size=workers,
            max_concurrent_calls_per_actor=_BATCHES_OF_A_WORKER,
            enable_true_multi_threading=True,
        ),
        num_cpus=cpus,
        num_gpus=gpus or None,
        udf_modifying_row_count=False,
    )
    if format == "jsonl":
        translated.write_datasink(LineOutput(output))
    else:
        translated.write_parquet(output)


if __name__ == "__main__":
    bulk()
