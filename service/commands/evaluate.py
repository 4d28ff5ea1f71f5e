"""dragoman evaluate."""

from __future__ import annotations

from pathlib import Path

import click

from model.decoding.sentence import LEAST_SOURCE_TOKENS
from service.commands.arguments import DEVICES, DIRECTORY, FILE, PRECISIONS
from service.commands.failure import fail, importing


@click.command()
@click.argument("checkpoint", type=DIRECTORY)
@click.option("--recipe", type=FILE, required=True, help="Names the corpora to measure on.")
@click.option("--split", type=click.Choice(["dev", "test"]), default="test", show_default=True)
@click.option("--device", type=DEVICES, default="auto", show_default=True)
@click.option("--precision", type=PRECISIONS, default="float32", show_default=True)
@click.option(
    "--lowercase-tokenized",
    is_flag=True,
    help="BLEU on lower-cased text cut by the Moses tokenizer, as older papers report it.",
)
@click.option(
    "--max-source-tokens",
    type=click.IntRange(min=LEAST_SOURCE_TOKENS),
    help="Cut sentences of more tokens; default: what the checkpoint asks for.",
)
@click.option(
    "--sentences",
    type=click.IntRange(min=1),
    help="Only so many sentences of each corpus, from its beginning; default: all.",
)
def evaluate(
    checkpoint: Path,
    recipe: Path,
    split: str,
    device: str,
    precision: str,
    lowercase_tokenized: bool,
    max_source_tokens: int | None,
    sentences: int | None,
) -> None:
    """Measure CHECKPOINT's BLEU and chrF with sacrebleu, corpus by corpus.

    Every line is translated as the server would translate it.
    """
    with importing("train"):
        from model.training.evaluation import evaluate as measure
        from service.offline import OfflineOptions, OfflineTranslator

    options = OfflineOptions(device, precision, max_source_tokens=max_source_tokens)
    try:
        with OfflineTranslator([checkpoint], options) as translator:
            scores = measure(
                translator.translate_all, recipe, split, lowercase_tokenized, sentences
            )
    except ValueError as error:
        fail(str(error))
    header = ("corpus", "direction", "sentences", "BLEU", "chrF", "sentences/s")
    click.echo("{:<24} {:<10} {:>9} {:>6} {:>6} {:>11}".format(*header))
    for score in scores:
        click.echo(
            f"{score.corpus:<24} {score.direction:<10} {score.sentences:>9} "
            f"{score.bleu:>6.2f} {score.chrf:>6.2f} {score.sentences_per_second:>11.1f}"
        )
    for signature in sorted(
        {s for row in scores for s in (row.bleu_signature, row.chrf_signature)}
    ):
        click.echo(signature)
