"""Translate a corpus on a Ray cluster.

    python deploy/ray/bulk.py --from en --to de --workers 8 s3://corpora/web/ s3://corpora/web-de/

Each worker has an engine of its own. Ray Data gives it rows, starts another worker if one ends, and
repeats what that one had not finished. docs/ray.md tells the rest.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import click
import pyarrow as pa
import ray

from model.checkpoint.bundled import BUNDLED_NAMES
from service.corpora.translations import Translation
from service.corpora.translators import translators_of
from service.offline import OfflineOptions

_BATCHES_OF_A_WORKER = 2
"""At the same time, so that the engine is never out of sentences."""


class Translator:
    """A worker: adds the translations of a column to each batch of rows."""

    def __init__(self, source: str, target: str, models: list[str], column: str, into: str) -> None:
        self._column, self._into = column, into
        paths = [Path(model) for model in models]
        translators = translators_of(paths, OfflineOptions(), source, target, in_one_process=True)
        self._opened = contextlib.ExitStack()
        self._translators = self._opened.enter_context(translators)

    def __call__(self, rows: pa.Table) -> pa.Table:
        texts = rows[self._column].to_pylist()
        asked = {place: text for place, text in enumerate(texts) if text}
        found = self._translators.submit([*asked.values()]).result()
        done = [Translation(text) for text in texts]
        for place, translation in zip(asked, found, strict=True):
            done[place] = translation
        added = {
            self._into: [one.text for one in done],
            f"{self._into}_error": [one.error or None for one in done],
        }
        for name, values in added.items():
            rows = rows.append_column(name, pa.array(values, pa.string()))
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
    read, write = {
        "parquet": (ray.data.read_parquet, ray.data.Dataset.write_parquet),
        "jsonl": (ray.data.read_json, ray.data.Dataset.write_json),
    }[format]
    translated = read(corpus).map_batches(
        Translator,
        fn_constructor_args=(source, target, [*models], column, into),
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
    write(translated, output)


if __name__ == "__main__":
    bulk()
