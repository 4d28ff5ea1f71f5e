"""dragoman translate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tqdm import tqdm

from model.bundled import BUNDLED_NAMES
from service.commands.arguments import DEVICES, MODEL, PRECISIONS, TEXT_FILE
from service.commands.failure import fail, importing
from service.commands.text_files import Output, read_parts
from service.settings import BUNDLED

if TYPE_CHECKING:
    from service.offline import OfflineTranslator


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
    help="May be repeated: the first that has the languages translates, or two through English.",
)
@click.option("--device", type=DEVICES, default="auto", show_default=True)
@click.option("--precision", type=PRECISIONS, default="auto", show_default=True)
@click.option("--beam-size", type=click.IntRange(1, 64), help="Default: the checkpoint's.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default: the checkpoint's.")
@click.option("--max-slots", type=click.IntRange(1, 65536), default=64, show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="File to write to; it keeps what was translated before an error.",
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
    output: Path,
) -> None:
    """Translate FILES, or standard input, to standard output or to -o.

    Lines stay lines: a text of a hundred lines gives a hundred lines. What is translated is written
    at once, so that large files take little memory.
    """
    inputs = files or (None,)
    try:
        with Output(None if str(output) == "-" else output) as written:
            for file in inputs:
                written.require_other_than(file)
            with importing():
                from service.offline import OfflineOptions, OfflineTranslator
            options = OfflineOptions(device, precision, max_slots, beam_size, length_penalty)
            pair = None if source == "auto" else (source, target)
            with OfflineTranslator(models, options, pair) as translator:
                translator.check(source, target)
                for text in _translated(translator, inputs, source, target):
                    written.write(text)
    except ValueError as error:
        fail(str(error))


def _translated(
    translator: OfflineTranslator, files: Sequence[Path | None], source: str, target: str
) -> Iterator[str]:
    """Translate part by part, with a progress bar if standard error is a terminal.

    Files are separate texts only if their language is detected.
    """
    parts = map(read_parts, files)
    texts: Iterable[Iterable[str]] = (
        parts if source == "auto" else [itertools.chain.from_iterable(parts)]
    )
    with tqdm(unit=" characters", unit_scale=True, disable=None) as bar:
        for text in texts:
            for translation in translator.translate_parts(text, source, target):
                bar.update(len(translation))
                yield translation
