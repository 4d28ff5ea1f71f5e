"""The part of dragoman translate that reads corpora: --format and what goes with it."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from service import install_command
from service.commands.arguments import require_readable
from service.commands.process import importing
from service.commands.text_files import are_small
from service.corpora.shards import Shard

if TYPE_CHECKING:
    from service.corpora.corpus import Corpus
    from service.corpora.line_formats import AddedColumns, LineFormat
    from service.corpora.translations import OpenTranslators

FAILED_RECORDS = 3
"""The exit code if some records could not be translated."""


@dataclass(frozen=True)
class CorpusOptions:
    """How to read a corpus and what to write; the flags of the command by their names."""

    format: str | None = None
    field: str = "text"
    into: str = "translation"
    score: bool = False
    checks: bool = False
    shard: Shard = Shard()  # noqa: RUF009
    resume: bool = False
    part_rows: int = 65_536


_USUAL = CorpusOptions()
_FORMATS_WITH = {
    ("jsonl", "tsv", "parquet"): ("field", "into", "score", "checks"),
    ("parquet",): ("part_rows",),
}


def _shard(_: click.Context, __: click.Parameter, written: str | None) -> Shard:
    try:
        return Shard.parse(written) if written else _USUAL.shard
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


_OPTIONS = [
    click.option(
        "--format",
        type=click.Choice(["text", "jsonl", "tsv", "parquet"]),
        help="FILE is a corpus: each line or row is a text by itself, and they stay in order. "
        "gzip and zstd are recognised, and written if -o ends in .gz or .zst.",
    ),
    click.option(
        "--field",
        "--column",
        default=_USUAL.field,
        show_default=True,
        help="Of JSONL, the field with the text; of Parquet and TSV, the column: for TSV its name "
        "in the first line, or its number from 1 if there is no such line. Of JSONL and Parquet "
        "translation.en is the field en within translation.",
    ),
    click.option(
        "--into", default=_USUAL.into, show_default=True, help="The field to write, or column."
    ),
    click.option("--score", is_flag=True, help="Write the mean log-probability of the tokens too."),
    click.option("--checks", is_flag=True, help="Write the kinds of likely mistakes too."),
    click.option(
        "--shard",
        callback=_shard,
        metavar="I/N",
        help="Only the I-th of N parts of FILE, which in order are the whole.",
    ),
    click.option(
        "--resume",
        is_flag=True,
        help="Go on with what -o has of an earlier run with the same FILE and options; another "
        "language or model is not noticed.",
    ),
    click.option(
        "--part-rows",
        type=click.IntRange(1),
        default=_USUAL.part_rows,
        show_default=True,
        help="Rows of each file that is written for Parquet.",
    ),
]


def corpus_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these flags as its parameter `corpus`."""

    @functools.wraps(command)
    def gathered(**given: Any) -> Any:
        names = [one.name for one in dataclasses.fields(CorpusOptions)]
        corpus = CorpusOptions(*(given.pop(name) for name in names))
        if corpus.format is None and corpus != _USUAL:
            raise ValueError("the options of a corpus need --format")
        return command(corpus=corpus, **given)

    made = gathered
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def translate_corpus_file(
    file: Path | None,
    output: Path | None,
    opening: OpenTranslators,
    chosen: CorpusOptions,
) -> None:
    """Translate a file, or standard input. Exits with its own code if records failed."""
    with importing():
        from service.corpora.progress import CorpusProgress
        from service.corpora.run import translate_corpus

    _require_possible(file, output, chosen)
    output = _file_to_write(file, output, chosen)
    opened = opened_corpus(file, output, chosen)
    is_small = file is not None and are_small([file])
    with (
        opening(is_checked=chosen.checks, in_one_process=is_small) as translators,
        opened as corpus,
    ):
        progress = CorpusProgress(sys.stderr)
        num_failed = translate_corpus(corpus, translators, progress)
        progress.end()
    if num_failed:
        raise SystemExit(FAILED_RECORDS)


def _require_possible(file: Path | None, output: Path | None, chosen: CorpusOptions) -> None:
    """Raises ValueError."""
    if file is not None:
        require_readable(file)
    if not chosen.into.strip() or not chosen.into.isprintable():
        raise ValueError(f"--into must be the name of a field, got {chosen.into!r}")
    if chosen.shard.count > 1 and not (file and file.is_file()):
        raise ValueError("--shard needs a file that can be read in parts, not a stream")
    if chosen.resume and output is None:
        raise ValueError("--resume goes on with a file, which -o names")
    _require_effect(chosen)
    if chosen.format == "parquet" and (file is None or output is None):
        raise ValueError("--format parquet needs FILE and -o, the directory to write")


def _require_effect(chosen: CorpusOptions) -> None:
    """Raise ValueError for options that the format does not have."""
    for formats, names in _FORMATS_WITH.items():
        given = [name for name in names if getattr(chosen, name) != getattr(_USUAL, name)]
        if given and chosen.format not in formats:
            flags = " and ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ValueError(f"{flags} need --format {' or '.join(formats)}, got {chosen.format}")


def _file_to_write(file: Path | None, output: Path | None, chosen: CorpusOptions) -> Path | None:
    """The output; of lines into a directory, the file there with the input's name. Raises
    ValueError."""
    if output is None or chosen.format == "parquet" or not output.is_dir():
        return output
    if file is None:
        raise ValueError(f"{output} is a directory, which needs FILE, not standard input")
    return output / file.name


@contextmanager
def opened_corpus(
    file: Path | None, output: Path | None, chosen: CorpusOptions
) -> Iterator[Corpus[Any]]:
    """The input and its output, which is held until the end of the block. Raises ValueError."""
    from service.corpora.line_formats import AddedColumns

    columns = AddedColumns(chosen.into, chosen.score, chosen.checks)
    with (_parquet if chosen.format == "parquet" else _lines)(
        file, output, chosen, columns
    ) as corpus:
        yield corpus


@contextmanager
def _lines(
    file: Path | None,
    output: Path | None,
    chosen: CorpusOptions,
    columns: AddedColumns,
) -> Iterator[Corpus[Any]]:
    from service.corpora.line_corpus import LineCorpus
    from service.corpora.line_files import LineInput, LineOutput

    line_format = _line_format(chosen, columns)
    with LineOutput(output, file, resumes=chosen.resume) as written:
        yield LineCorpus(LineInput(file, chosen.shard), written, line_format)


def _line_format(chosen: CorpusOptions, columns: AddedColumns) -> LineFormat:
    from service.corpora.line_formats import JsonLines, PlainLines, TabbedLines

    if chosen.format == "jsonl":
        return JsonLines(chosen.field, columns)
    if chosen.format == "tsv":
        return TabbedLines(chosen.field, columns)
    return PlainLines()


@contextmanager
def _parquet(
    file: Path | None,
    output: Path | None,
    chosen: CorpusOptions,
    columns: AddedColumns,
) -> Iterator[Corpus[Any]]:
    try:
        from service.corpora.parquet_corpus import ParquetCorpus
    except ModuleNotFoundError as error:
        raise ValueError(f"Parquet needs {install_command('corpora')} ({error})") from error
    assert file is not None
    assert output is not None
    with ParquetCorpus(
        file, output, chosen.field, columns, chosen.shard, chosen.part_rows, resumes=chosen.resume
    ) as corpus:
        yield corpus
