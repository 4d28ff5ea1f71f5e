"""dragoman train."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from service.commands.arguments import DEVICES, DIRECTORY, FILE
from service.commands.failure import fail, importing


@click.command()
@click.argument("recipe", type=FILE)
@click.option("--run", "directory", type=DIRECTORY, required=True, help="Where the run lives.")
@click.option("--device", type=DEVICES, default="auto", show_default=True)
def train(recipe: Path, directory: Path, device: str) -> None:
    """Train as RECIPE (a TOML file) says.

    The run may be interrupted at any time; the same command goes on from the last save. The
    finished checkpoint is left in the run's directory; each stage of a recipe has a directory of
    its own there.
    """
    with importing("train"):
        from model.backends.devices import resolve_device
        from model.training.loop import train as train_stages

    try:
        finished = train_stages(recipe, directory, resolve_device(device))
    except ValueError as error:
        fail(str(error))
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            click.echo(
                "dragoman: interrupted; the same command goes on from what it saved", err=True
            )
        raise
    click.echo(f"finished: {click.format_filename(finished)}")
