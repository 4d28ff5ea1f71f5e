"""dragoman translate."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from model.checkpoint.bundled import BUNDLED_NAMES
from model.training.progress_bar import ProgressBar
from service.commands.arguments import (
    DEVICES,
    MODEL,
    PRECISIONS,
    TEXT_FILE,
    GivenPath,
    require_readable,
)
from service.commands.corpora import CorpusOptions, corpus_options, translate_corpus_file
from service.commands.process import Failures, importing
from service.commands.text_files import Output, TextFileError, TextReader, are_small
from service.errors import shown
from service.settings import BUNDLED

if TYPE_CHECKING:
    from service.corpora.translations import OpenTranslators, Translators
    from service.documents.formats import FileFormat

_STANDARD_INPUT = Path("-")
_Reading = Callable[[Path | None], TextReader]


class _Input(NamedTuple):
    """A file, None for standard input, and its format, or what reads it as plain text."""

    file: Path | None
    content: FileFormat | TextReader


def _checked(_: click.Context, __: click.Parameter, kept: tuple[str, ...]) -> tuple[str, ...]:
    """The strings to keep. Raises BadParameter for an empty one, as of an unset variable."""
    for text in kept:
        if not text.strip():
            raise click.BadParameter(f"must not be empty or only spaces, got {shown(text)}")
    return kept


@click.command()
@click.argument("files", nargs=-1, type=GivenPath(path_type=Path))
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
@click.option(
    "--glossary",
    type=TEXT_FILE,
    help="CSV, TSV, XLSX, TBX or TMX file of terms.",
)
@click.option("--plain", is_flag=True, help="Read FILES as plain text, whatever their endings.")
@click.option(
    "--join-lines", is_flag=True, help="Plain text is wrapped: only a blank line ends a paragraph."
)
@click.option(
    "--replace", is_flag=True, help="Also what PO, XLIFF and TS files have a translation of."
)
@corpus_options
@click.option(
    "-o",
    "--output",
    type=GivenPath(allow_dash=True),
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
    plain: bool,
    join_lines: bool,
    replace: bool,
    corpus: CorpusOptions,
    output: str,
) -> None:
    """Translate FILES, or standard input, to standard output or -o.

    Formats such as .docx, .md, .po or .yml are known by the endings of names. Standard input, also
    named -, and files that end in .txt or have no ending are plain text: a text of a hundred lines
    gives a hundred lines, and what is translated is written at once, so that large files take
    little memory. A file that fails does not hold back the others.

    With --format FILE is a corpus, whose lines or rows are translated one by one.
    """
    with importing():
        from service.corpora.translators import translators_of
        from service.offline import OfflineOptions
        from service.stores.glossary_files import read_glossary
        from service.translation.glossary import Glossary

    options = OfflineOptions(
        device,
        precision,
        max_slots,
        beam_size,
        length_penalty,
        keep=keep,
        glossary=Glossary(read_glossary(glossary, (source, target))) if glossary else None,
        split_sentences="nonewlines" if join_lines else True,
    )
    opening = functools.partial(translators_of, models, options, source, target)
    named = [None if file == _STANDARD_INPUT else file for file in files]
    if corpus.format is not None:
        if plain or join_lines or replace or len(files) > 1:
            raise ValueError("--format takes one FILE, and no --plain, --join-lines or --replace")
        file = named[0] if named else None
        translate_corpus_file(file, _made(output), opening, corpus)
        return
    reading = functools.partial(TextReader, language=source, joins_lines=join_lines)
    with Failures() as failures:
        inputs = _inputs(named or [None], plain, reading, failures)
        _translate_files(inputs, _made(output), opening, source, replace, failures)


def _translate_files(
    inputs: Sequence[_Input],
    output: Path | None,
    opening: OpenTranslators,
    source: str,
    replaces: bool,
    failures: Failures,
) -> None:
    """Write the translation of each. Raises ValueError, before any, for outputs that cannot be."""
    with contextlib.ExitStack() as opened:
        planned = [
            (opened.enter_context(Output(path)), own) for path, own in _planned(inputs, output)
        ]
        for written, own in planned:
            _require_writable(written, own)
        translators = opened.enter_context(opening(in_one_process=_are_small(inputs)))
        for written, own in planned:
            with failures.noted(), written:
                _write(written, own, translators, source, replaces)


def _require_writable(written: Output, inputs: Sequence[_Input]) -> None:
    """Raise ValueError for an output that is an input, too, or a terminal that shows bytes."""
    for file, content in inputs:
        written.require_other_than(file)
        if not (isinstance(content, TextReader) or content.is_text):
            written.require_no_terminal(file)


def _inputs(
    files: Sequence[Path | None], is_plain: bool, reading: _Reading, failures: Failures
) -> Sequence[_Input]:
    """The files that can be read. Ends the command if none can be."""
    inputs = []
    for file in files:
        with failures.noted():
            inputs.append(_input(file, is_plain, reading))
    if not inputs:
        failures.end()
    return inputs


def _input(file: Path | None, is_plain: bool, reading: _Reading) -> _Input:
    """Raises ValueError if the file cannot be read, or its ending is unknown."""
    from service.corpora.compression import compression_of
    from service.documents.formats import FORMATS, SAVE_AS, format_of
    from service.errors import UnsupportedFile

    if file is None:
        return _Input(None, reading(None))
    require_readable(file)
    suffix = file.suffix.lower()
    if is_plain or suffix in ("", ".txt"):
        return _Input(file, reading(file))
    try:
        return _Input(file, format_of(file.name))
    except UnsupportedFile as error:
        if suffix in SAVE_AS:
            raise ValueError(f"{file}: {error}") from None
        is_packed = compression_of(file) != "none"
        hint = "--format text reads its lines" if is_packed else "--plain reads it as plain text"
        allowed = ", ".join(FORMATS)
        raise ValueError(f"{file}: {suffix} files are not read; {hint}; known: {allowed}") from None


def _are_small(inputs: Sequence[_Input]) -> bool:
    """Whether several processes would not translate them faster. Raises TextFileError."""
    file, content = inputs[0]
    if file is None and isinstance(content, TextReader):
        return content.ends_soon()
    return are_small([one.file for one in inputs if one.file is not None])


def _output_name(file: Path, content: FileFormat | TextReader) -> str:
    """The name of the file's translation: its own, but for formats that become others."""
    if isinstance(content, TextReader) or content.suffix == file.suffix.lower():
        return file.name
    return file.with_suffix(content.suffix).name


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
    inputs: Sequence[_Input], output: Path | None
) -> Sequence[tuple[Path | None, Sequence[_Input]]]:
    """Each output with its inputs: of its own for every file in a directory, else one for all.

    Raises ValueError.
    """
    if output is None or not output.is_dir():
        if len(inputs) > 1 and not all(isinstance(one.content, TextReader) for one in inputs):
            raise ValueError("several files with a document among them need a directory for -o")
        return [(output, inputs)]
    named = [
        (output / _output_name(one.file, one.content), [one])
        for one in inputs
        if one.file is not None
    ]
    if len(named) < len(inputs):
        raise ValueError(f"{output} is a directory, which needs FILES, not standard input")
    name, count = Counter(path.name for path, _ in named).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} files would be written to {output / name}")
    return named


def _write(
    written: Output, inputs: Sequence[_Input], translators: Translators, source: str, replaces: bool
) -> None:
    """Write the translation of texts, or of a document."""
    if readers := [one.content for one in inputs if isinstance(one.content, TextReader)]:
        for text in _texts(translators, readers, source):
            written.write_text(text, readers[0].encoding)
    elif (file := inputs[0].file) is not None:
        written.write_bytes(_document(translators, file, replaces))


def _document(translators: Translators, file: Path, replaces: bool) -> bytes:
    """The file's translation, with a progress bar if standard error is a terminal."""
    from service.corpora.translations import finished

    with ProgressBar(desc=file.name, unit=" characters", unit_scale=True, disable=None) as bar:

        def show(num_done: int, num_characters: int) -> None:
            bar.total = num_characters
            bar.update(num_done - bar.n)

        try:
            content = file.read_bytes()
            found = finished(
                translators.submit_document(file.name, content, show, replaces=replaces)
            )
        except OSError as error:
            raise ValueError(f"cannot read {file}: {error.strerror or error}") from error
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
    if found.error:
        raise ValueError(f"{file}: {found.error}")
    return found.content


def _texts(translators: Translators, readers: Sequence[TextReader], source: str) -> Iterator[str]:
    """Translate part by part, with a progress bar. Files are separate texts only if their language
    is detected. Raises an ExceptionGroup with the errors of all files in the end."""
    from service.corpora.text_parts import translate_parts

    failed: list[ValueError] = []
    with ProgressBar(unit=" characters", unit_scale=True, disable=None) as bar:
        for together in [[one] for one in readers] if source == "auto" else [readers]:
            parts = itertools.chain.from_iterable(_read(one, failed) for one in together)
            try:
                for translation in translate_parts(translators, parts, source):
                    bar.update(len(translation))
                    yield translation
            except ValueError as error:
                names = ", ".join(one.name for one in together)
                failed.append(ValueError(f"{names}: {error}"))
    if failed:
        raise ExceptionGroup("some files cannot be translated", failed)


def _read(reader: TextReader, failed: list[ValueError]) -> Iterator[str]:
    """The parts of a text, up to one that cannot be read."""
    try:
        yield from reader
    except TextFileError as error:
        failed.append(error)
