"""dragoman translate."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tqdm import tqdm

from model.checkpoint.bundled import BUNDLED_NAMES
from service.commands.arguments import DEVICES, MODEL, PRECISIONS, TEXT_FILE
from service.commands.process import importing
from service.commands.text_files import Output, read_parts
from service.errors import shown
from service.settings import BUNDLED

if TYPE_CHECKING:
    from service.offline import OfflineTranslator


def _checked(_: click.Context, __: click.Parameter, kept: tuple[str, ...]) -> tuple[str, ...]:
    """The strings to keep. Raises BadParameter for an empty one, as of an unset variable."""
    for text in kept:
        if not text.strip():
            raise click.BadParameter(f"must not be empty or only spaces, got {shown(text)}")
    return kept


@click.command()
@click.argument("files", nargs=-1, type=TEXT_FILE)
@click.option(
    "--from",
    "source",
    default="auto",
    show_default=True,
    help="Language code of the text, such as zh; auto detects it, for each file by itself.",
)
@click.option("--to", "target", required=True, help="Language code to translate into.")
@click.option(
    "--model",
    "models",
    type=MODEL,
    multiple=True,
    default=BUNDLED,
    show_default=", ".join(BUNDLED_NAMES),
    help="May be repeated: the first that has the languages translates, or two through a third.",
)
@click.option("--device", type=DEVICES, default="auto", show_default=True)
@click.option("--precision", type=PRECISIONS, default="auto", show_default=True)
@click.option("--beam-size", type=click.IntRange(1, 64), help="Default: the checkpoint's.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default: the checkpoint's.")
@click.option(
    "--max-slots",
    type=click.IntRange(0, 65536),
    default=0,
    help="Sentences translated at the same time. Default: as the server chooses, by the device and "
    "its free memory.",
)
@click.option(
    "--keep",
    multiple=True,
    callback=_checked,
    help="A string that stays as it is; may be repeated.",
)
@click.option("--glossary", type=TEXT_FILE, help="CSV or TSV file of terms and their translations.")
@click.option(
    "--join-lines", is_flag=True, help="Plain text is wrapped: only a blank line ends a paragraph."
)
@click.option(
    "--replace", is_flag=True, help="Also what PO, XLIFF and TS files have a translation of."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True),
    default="-",
    help="File to write to; it keeps what was translated before an error. Or a directory, for a "
    "file of its own from each of FILES; one that ends in / is made.",
)
def translate(
    files: tuple[Path, ...],
    source: str,
    target: str,
    models: tuple[Path, ...],
    device: str,
    precision: str,
    beam_size: int | None,
    length_penalty: float | None,
    max_slots: int,
    keep: tuple[str, ...],
    glossary: Path | None,
    join_lines: bool,
    replace: bool,
    output: str,
) -> None:
    """Translate FILES, or standard input, to standard output or to -o.

    Formats such as .docx, .md or .po are known by the endings of names. Every other file is plain
    text: a text of a hundred lines gives a hundred lines, and what is translated is written at
    once, so that large files take little memory.
    """
    with importing():
        from service.offline import OfflineOptions, OfflineTranslator
        from service.stores.glossary_files import read_glossary
        from service.translation.glossary import Glossary

    options = OfflineOptions(
        device,
        precision,
        max_slots,
        beam_size,
        length_penalty,
        keep=keep,
        glossary=Glossary(read_glossary(glossary)) if glossary else None,
        split_sentences="nonewlines" if join_lines else True,
    )
    pair = None if source == "auto" else (source, target)
    with contextlib.ExitStack() as opened:
        planned = [
            (opened.enter_context(Output(path)), inputs)
            for path, inputs in _planned(files, _made(output))
        ]
        for written, inputs in planned:
            for file in inputs:
                written.require_other_than(file)
        translator = opened.enter_context(OfflineTranslator(models, options, pair))
        translator.check(source, target)
        for written, inputs in planned:
            if (file := inputs[0]) is not None and _is_document(file):
                written.write_bytes(_document(translator, file, source, target, replace))
            else:
                for text in _texts(translator, inputs, source, target, join_lines):
                    written.write_bytes(text.encode())


def _is_document(path: Path) -> bool:
    """Whether the file has a format of its own, which may be refused; any other is plain text."""
    from service.documents.formats import FORMATS, SAVE_AS

    suffix = path.suffix.lower()
    return (suffix in FORMATS or suffix in SAVE_AS) and suffix != ".txt"


def _output_name(path: Path) -> str:
    """The name of the file's translation: its own, but for formats that become others."""
    from service.documents.formats import FORMATS

    found = FORMATS.get(path.suffix.lower())
    if found is None or found.suffix == path.suffix.lower():
        return path.name
    return path.with_suffix(found.suffix).name


def _made(output: str) -> Path | None:
    """The output's path, made if it ends as a directory; None for standard output. Raises
    ValueError."""
    path = None if output == "-" else Path(output)
    if path and output.endswith(os.sep):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"cannot make {output}: {error.strerror or error}") from error
    return path


def _planned(
    files: Sequence[Path], output: Path | None
) -> list[tuple[Path | None, Sequence[Path | None]]]:
    """Each output with its inputs: of its own for every file in a directory, else one for all.

    Raises ValueError.
    """
    if output is None or not output.is_dir():
        if len(files) > 1 and any(map(_is_document, files)):
            raise ValueError("several files with a document among them need a directory for -o")
        return [(output, files or (None,))]
    if not files:
        raise ValueError(f"{output} is a directory, which needs FILES")
    paths = [output / _output_name(file) for file in files]
    name, count = Counter(path.name for path in paths).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} files would be written to {output / name}")
    return [(path, [file]) for path, file in zip(paths, files, strict=True)]


def _document(
    translator: OfflineTranslator, file: Path, source: str, target: str, replaces: bool
) -> bytes:
    """The file's translation, with a progress bar if standard error is a terminal."""
    with tqdm(desc=file.name, unit=" characters", unit_scale=True, disable=None) as bar:

        def show(num_done: int, num_characters: int) -> None:
            bar.total = num_characters
            bar.update(num_done - bar.n)

        try:
            return translator.translate_file(
                file, source, target, replaces=replaces, on_progress=show
            ).content
        except OSError as error:
            raise ValueError(f"cannot read {file}: {error.strerror or error}") from error
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error


def _texts(
    translator: OfflineTranslator,
    files: Sequence[Path | None],
    source: str,
    target: str,
    joins_lines: bool,
) -> Iterator[str]:
    """Translate part by part, with a progress bar. Files are separate texts only if their language
    is detected."""
    parts = (read_parts(file, joins_lines) for file in files)
    texts: Iterable[Iterable[str]] = (
        parts if source == "auto" else [itertools.chain.from_iterable(parts)]
    )
    with tqdm(unit=" characters", unit_scale=True, disable=None) as bar:
        for text in texts:
            for translation in translator.translate_parts(text, source, target):
                bar.update(len(translation))
                yield translation
