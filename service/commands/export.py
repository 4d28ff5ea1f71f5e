"""dragoman export."""

from __future__ import annotations

from pathlib import Path

import click

from service.commands.arguments import DIRECTORY
from service.commands.failure import fail, importing


@click.command()
@click.argument("checkpoint", type=DIRECTORY)
@click.argument("destination", type=DIRECTORY)
@click.option(
    "--format", "name", type=click.Choice(["marian", "m2m_100", "pegasus"]), required=True
)
def export(checkpoint: Path, destination: Path, name: str) -> None:
    """Write CHECKPOINT as the Hugging Face directory DESTINATION, in float32.

    transformers loads it, and ct2-transformers-converter makes a CTranslate2 model of it. The
    format follows from the architecture: marian for post-norm, pegasus for pre-norm checkpoints,
    m2m_100 for what was imported from M2M-100 or NLLB-200.

    \b
    dragoman export checkpoints/zh-en exported --format pegasus
    """
    with importing():
        from model.exporters.huggingface import export_checkpoint

    try:
        export_checkpoint(checkpoint, destination, name)
    except ValueError as error:
        fail(str(error))
    click.echo(f"exported: {click.format_filename(destination)}")
