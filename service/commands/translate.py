"""dragoman translate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import click

from service.commands.arguments import DEVICES, FILE, MODEL, PRECISIONS
from service.commands.failure import fail
from service.settings import BUNDLED


@click.command()
@click.argument("files", nargs=-1, type=FILE)
@click.option("--from", "source", required=True, help="Language code of the text, such as zh.")
@click.option("--to", "target", required=True, help="Language code to translate into.")
@click.option(
    "--model",
    "models",
    type=MODEL,
    multiple=True,
    default=BUNDLED,
    show_default=True,
    help="May be repeated: the first that has the languages translates.",
)
@click.option("--device", type=DEVICES, default="auto", show_default=True)
@click.option("--precision", type=PRECISIONS, default="auto", show_default=True)
@click.option("--beam-size", type=click.IntRange(1, 64), help="Default: the checkpoint's.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default: the checkpoint's.")
@click.option("--max-slots", type=click.IntRange(1, 65536), default=64, show_default=True)
@click.option("-o", "--output", type=click.File("w", encoding="utf-8", lazy=True), default="-")
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
    output: TextIO,
) -> None:
    """Translate FILES, or standard input, to standard output or to -o.

    Lines stay lines: a text of a hundred lines gives a hundred lines.
    """
    from service.offline import OfflineTranslator, choose_model

    text = _read_texts(files)
    try:
        model = choose_model(models, source, target)
        translator = OfflineTranslator(
            model, device, precision, max_slots, beam_size, length_penalty
        )
        translation = translator.translate(text, source, target)
    except ValueError as error:
        fail(str(error))
    output.write(translation)


def _read_texts(files: tuple[Path, ...]) -> str:
    try:
        if not files:
            return sys.stdin.buffer.read().decode("utf-8")
        return "".join(file.read_bytes().decode("utf-8") for file in files)
    except UnicodeDecodeError as error:
        fail(f"the input is not UTF-8: byte {error.start} is wrong")
