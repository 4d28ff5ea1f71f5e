"""dragoman calibrate."""

from __future__ import annotations

from pathlib import Path

import click

from service.commands.arguments import DIRECTORY, FILE
from service.commands.failure import fail, importing


@click.command()
@click.argument("checkpoint", type=DIRECTORY)
@click.option("--recipe", type=FILE, required=True, help="Names the corpora: train and dev sets.")
@click.option(
    "--sentences",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Dev sentences per corpus and direction.",
)
def calibrate(checkpoint: Path, recipe: Path, sentences: int) -> None:
    """Measure on dev sets which attention heads of CHECKPOINT align words, and how its
    log-probabilities say whether words and sentences are right; write both to its config.json.
    """
    with importing("train"):
        from model.training.calibration import calibrate as choose

    try:
        result = choose(checkpoint, recipe, sentences)
    except (ValueError, OSError) as error:
        fail(str(error))
    choice = result.heads
    heads = ", ".join(f"{layer}.{head}" for layer, head in choice.heads)
    click.echo(
        f"calibrated: {checkpoint}: heads {heads} align {choice.accuracy:.1f} % of "
        f"{choice.num_anchors} anchors, the default ones {choice.default_accuracy:.1f} %; "
        f"confidence is calibrated on {result.num_sentences} sentences"
    )
