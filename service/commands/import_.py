"""dragoman import."""

from __future__ import annotations

from pathlib import Path

import click

from service.commands.arguments import DIRECTORY
from service.commands.failure import fail, importing


@click.command("import")
@click.argument("source")
@click.argument("destination", type=DIRECTORY)
@click.option("--revision", help="Branch, tag or commit of a Hub model; default: its main branch.")
@click.option("--source-lang", "sources", multiple=True, help="Language to translate from.")
@click.option("--target-lang", "targets", multiple=True, help="Language to translate into.")
def import_(
    source: str,
    destination: Path,
    revision: str | None,
    sources: tuple[str, ...],
    targets: tuple[str, ...],
) -> None:
    """Write the model SOURCE as the checkpoint DESTINATION.

    SOURCE is a directory in Hugging Face layout, a fairseq archive, or a Hub id:

    \b
    dragoman import Helsinki-NLP/opus-mt-de-en checkpoints/de-en
    dragoman import facebook/nllb-200-distilled-600M checkpoints/nllb
    dragoman import models/wmt/model.pt checkpoints/wmt --source-lang en --target-lang de

    Families: Marian, M2M-100 and NLLB-200, mBART-50, fairseq Transformers. The languages are named
    where the model does not say them, and otherwise choose among those that it has. Each option
    may be given several times.
    """
    with importing():
        from model.importers.imported import Wanted
        from model.importers.resolve import import_source

    try:
        import_source(source, destination, revision, Wanted(sources, targets))
    except ValueError as error:
        fail(str(error))
    click.echo(f"imported: {click.format_filename(destination)}")
