"""The commands for checkpoints: train, evaluate, average, calibrate, check, import and export."""

from __future__ import annotations

from pathlib import Path

import click

from model.decoding.sentence import LEAST_SOURCE_TOKENS
from service.commands.arguments import CHECKPOINT, DEVICES, DIRECTORY, FILE, PRECISIONS
from service.commands.process import exiting_on_interrupt, importing, wait_without_computing


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
    wait_without_computing()
    with importing("train"):
        from model.backends.devices import resolve_device
        from model.training.loop import train as train_stages

    with exiting_on_interrupt("interrupted; the same command goes on from what it saved"):
        finished = train_stages(recipe, directory, resolve_device(device))
    click.echo(f"finished: {click.format_filename(finished)}")


@click.command()
@click.argument("checkpoint", type=CHECKPOINT)
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
    """Measure CHECKPOINT's BLEU and chrF, corpus by corpus.

    Every line is translated as the server would translate it; sacrebleu compares.
    """
    with importing("train"):
        from model.training.evaluation import evaluate as measure
        from service.offline import OfflineOptions, OfflineTranslator

    options = OfflineOptions(device, precision, max_source_tokens=max_source_tokens)
    with OfflineTranslator([checkpoint], options) as translator:
        scores = measure(translator.translate_all, recipe, split, lowercase_tokenized, sentences)
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


@click.command()
@click.argument("sources", nargs=-1, type=CHECKPOINT, required=True)
@click.argument("destination", type=DIRECTORY)
@click.option(
    "--int8",
    "is_int8",
    is_flag=True,
    help="Store the matrices of layers in int8, as the native backend computes with them, in "
    "half the bytes of float16.",
)
def average(sources: tuple[Path, ...], destination: Path, is_int8: bool) -> None:
    """Average the weights of SOURCES in the checkpoint DESTINATION.

    They must have been trained from the same checkpoint, as several second stages are:

    \b
    dragoman average runs/zh-en-longer/checkpoint runs/zh-en-copying/checkpoint averaged
    """
    with importing():
        from model.training.averaging import average_checkpoints

    average_checkpoints(sources, destination, is_int8=is_int8)
    click.echo(f"averaged: {click.format_filename(destination)}")


@click.command()
@click.argument("checkpoint", type=CHECKPOINT)
@click.option("--recipe", type=FILE, required=True, help="Names the corpora: train and dev sets.")
@click.option(
    "--sentences",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Dev sentences per corpus and direction.",
)
def calibrate(checkpoint: Path, recipe: Path, sentences: int) -> None:
    """Select CHECKPOINT's alignment heads, and fit its confidence.

    Dev sets tell which attention heads align words, and how log-probabilities say whether words and
    sentences are right. Both are written to config.json.
    """
    wait_without_computing()
    with importing("train"):
        from model.training.calibration import calibrate as choose

    result = choose(checkpoint, recipe, sentences)
    choice = result.heads
    heads = ", ".join(f"{layer}.{head}" for layer, head in choice.heads)
    click.echo(
        f"calibrated: {checkpoint}: heads {heads} align {choice.accuracy:.1f} % of "
        f"{choice.num_anchors} anchors, the default ones {choice.default_accuracy:.1f} %; "
        f"confidence is calibrated on {result.num_sentences} sentences"
    )


@click.command()
@click.argument("directory", type=CHECKPOINT, required=False)
@click.option("--machine", is_flag=True, help="Measure the instruction sets of this CPU.")
def check(directory: Path | None, machine: bool) -> None:
    """Verify the checkpoint DIRECTORY, such as zh-en.

    Its sums, sizes, types and ids are compared, and its self-test is run: a few translations that
    the weights gave when they were saved, computed in float32, whatever a server would use. Also
    shows the instruction set that a server on this CPU uses.
    """
    if directory is None and not machine:
        raise click.UsageError("give a DIRECTORY or --machine")
    with importing():
        from model.backends.native import NOT_COMPILED, choose_instruction_set, kernel_names

    instruction_set = choose_instruction_set()
    if directory:
        _check_directory(directory)
    if names := kernel_names():
        click.echo(f"instruction set: {instruction_set} (this CPU has {', '.join(names)})")
    else:
        click.echo(f"warning: {NOT_COMPILED}", err=True)
    if machine:
        _show_speeds(names)


def _check_directory(directory: Path) -> None:
    """Raises ValueError if the checkpoint is not in order."""
    with importing():
        from model.trials.checkpoint import check_checkpoint

    result = check_checkpoint(directory)
    click.echo(
        f"checked: {directory}: {result.name}, {result.num_files} files, "
        f"{result.num_parameters} parameters, {result.num_sentences} translations with "
        f"log-probabilities within {result.largest_difference:.4f}"
        + (", a shortlist for each source" if result.has_shortlist else "")
    )


def _show_speeds(names: list[str]) -> None:
    """Of one thread, for one row and for many."""
    from model.backends.native import linear_speed

    click.echo("multiplications a nanosecond, one thread:  int8  x32 rows  float32  x32 rows")
    for name in names:
        alone, batch, *floats = (
            linear_speed(name, is_quantised, rows)
            for is_quantised in (True, False)
            for rows in (1, 32)
        )
        click.echo(f"{name:>40} {alone:6.0f} {batch:9.0f} {floats[0]:8.0f} {floats[1]:9.0f}")


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

    SOURCE is a directory in the layout of Hugging Face or eole or with Marian's own files, a
    fairseq archive, or a Hub id:

    \b
    dragoman import Helsinki-NLP/opus-mt-de-en checkpoints/de-en
    dragoman import facebook/nllb-200-distilled-600M checkpoints/nllb
    dragoman import models/wmt/model.pt checkpoints/wmt --source-lang en --target-lang de

    Families: Marian, M2M-100, NLLB-200, SMaLL-100, mBART-50, T5, MADLAD-400, eole, fairseq
    Transformers. The languages are named where the model does not say them, and otherwise choose
    among those that it has. Each option may be given several times.
    """
    with importing():
        from model.importers.imported import Wanted
        from model.importers.resolve import import_source

    import_source(source, destination, revision, Wanted(sources, targets))
    click.echo(f"imported: {click.format_filename(destination)}")


@click.command()
@click.argument("checkpoint", type=CHECKPOINT)
@click.argument("destination", type=DIRECTORY)
@click.option(
    "--format",
    "name",
    type=click.Choice(["marian", "m2m_100", "pegasus"]),
    help="Default: by the architecture.",
)
def export(checkpoint: Path, destination: Path, name: str | None) -> None:
    """Write CHECKPOINT as the Hugging Face directory DESTINATION.

    It is in float32. transformers loads it, and ct2-transformers-converter makes a CTranslate2
    model of it. The format follows from the architecture: marian for post-norm, pegasus for
    pre-norm checkpoints, m2m_100 for what was imported from M2M-100 or NLLB-200.

    \b
    dragoman export zh-en exported
    """
    with importing():
        from model.exporters.huggingface import export_checkpoint

    export_checkpoint(checkpoint, destination, name)
    click.echo(f"exported: {click.format_filename(destination)}")
