"""dragoman average."""

from __future__ import annotations

from pathlib import Path

import click

from service.commands.arguments import DIRECTORY
from service.commands.failure import fail, importing


@click.command()
@click.argument("sources", nargs=-1, type=DIRECTORY, required=True)
@click.argument("destination", type=DIRECTORY)
@click.option(
    "--rounded",
    "is_rounded",
    is_flag=True,
    help="Give weights that differ between SOURCES the precision of bfloat16, so that a "
    "repository stores them in less space.",
)
def average(sources: tuple[Path, ...], destination: Path, is_rounded: bool) -> None:
    """Write the mean of the weights of SOURCES as the checkpoint DESTINATION.

    They must have been trained from the same checkpoint, as several second stages are:

    \b
    dragoman average runs/zh-en-longer/checkpoint runs/zh-en-copying/checkpoint averaged
    """
    with importing():
        from model.training.averaging import average_checkpoints

    try:
        average_checkpoints(sources, destination, is_rounded)
    except ValueError as error:
        fail(str(error))
    click.echo(f"averaged: {click.format_filename(destination)}")
