"""dragoman check."""

from __future__ import annotations

from pathlib import Path

import click

from service.commands.arguments import DIRECTORY
from service.commands.failure import fail, importing


@click.command()
@click.argument("directory", type=DIRECTORY)
def check(directory: Path) -> None:
    """Verify the checkpoint DIRECTORY: sums, sizes, types, ids, and its self-test.

    The self-test is a few translations that the weights gave when they were saved. It is computed
    in float32, whatever a server would use. Also shows the instruction set that a server on this
    CPU uses.
    """
    with importing():
        from model.backends.native import choose_instruction_set, kernel_names
        from model.checking import check_checkpoint

    try:
        instruction_set = choose_instruction_set()
        result = check_checkpoint(directory)
    except ValueError as error:
        fail(str(error))
    click.echo(
        f"checked: {directory}: {result.name}, {result.num_files} files, "
        f"{result.num_parameters} parameters, {result.num_sentences} translations with "
        f"log-probabilities within {result.largest_difference:.4f}"
    )
    click.echo(f"instruction set: {instruction_set} (this CPU has {', '.join(kernel_names())})")
