"""dragoman serve | translate | train | evaluate | average | import | export.

A wrong setting, file or checkpoint is one line on stderr and exit code 2. What a command needs of
torch and of the training code is imported when that command runs.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar

import click

from model.sentence import LEAST_SOURCE_TOKENS
from service import __version__
from service.settings import BUNDLED, Settings, read_settings

_logger = logging.getLogger(__name__)
_Command = TypeVar("_Command", bound=Callable[..., Any])
_FAILED = 2
_SHUTDOWN_SECONDS = 5
_MEASURED_SLOTS = 64
_KEEP_ALIVE_SECONDS = 75  # idle connections are for the load balancer to close, after its 60
_DEVICES = click.Choice(["auto", "cpu", "cuda"])
_PRECISIONS = click.Choice(["auto", "float32", "bfloat16", "float16", "int8"])
_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_MODEL = click.Path(path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="dragoman")
def main() -> None:
    """Translate text with a Transformer: as a server, from the command line, or train one.

    \b
    dragoman serve                               answer http://127.0.0.1:8000/translate
    dragoman translate --from zh --to en FILE    translate a file, or standard input
    dragoman train RECIPE --run DIRECTORY        train a checkpoint
    dragoman evaluate CHECKPOINT --recipe RECIPE measure BLEU and chrF
    dragoman average CHECKPOINT... DESTINATION   write their mean
    dragoman import SOURCE DESTINATION           make a checkpoint of a model of another family
    dragoman export CHECKPOINT DESTINATION       write one for transformers and CTranslate2
    """


def _settings_options(command: _Command) -> _Command:
    """One flag a setting, spelled alike: DRAGOMAN_MAX_SLOTS is --max-slots."""
    for name, field in reversed(Settings.model_fields.items()):
        bounds = [f"{k} {v}" for m in field.metadata for k, v in _bounds(m)]
        default = ",".join(map(str, field.default)) if name == "model" else field.default
        extra = "; ".join([*bounds, f"default {default}", f"DRAGOMAN_{name.upper()}"])
        option = click.option(
            f"--{name.replace('_', '-')}",
            name,
            multiple=name == "model",
            help=f"{field.description} [{extra}]",
        )
        command = option(command)
    return command


def _bounds(constraint: object) -> list[tuple[str, object]]:
    names = {"ge": "at least", "le": "at most"}
    return [(names[k], getattr(constraint, k)) for k in names if hasattr(constraint, k)]


@main.command()
@_settings_options
def serve(**flags: str | tuple[str, ...] | None) -> None:
    """Serve checkpoints, or models that are imported first, over HTTP until interrupted.

    A request goes to the first model that has its pair of languages, or through English to two.

    Flags win over DRAGOMAN_* environment variables, these over a TOML file (--config), this over
    the defaults. Try it:

    \b
    curl -d 'q=你好' -d source=zh -d target=en http://127.0.0.1:8000/translate
    """
    settings = _read_settings({name: value for name, value in flags.items() if value})
    import uvicorn

    from service.app import create_app, drain
    from service.http10 import Http10Protocol
    from service.loading import StartupError, load_models
    from service.logs import configure_logs
    from service.server import Server

    configure_logs(settings.log_level, settings.log_format)
    try:
        models = load_models(settings)
        listener = _bind(settings.host, settings.port)
        app = create_app(settings, models)
    except StartupError as error:
        _fail(str(error))
    config = uvicorn.Config(  # an access log would hold what clients put into their URLs
        app,
        http=Http10Protocol,
        log_config=None,
        access_log=False,
        ws_max_size=settings.max_body_bytes,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    host, port = listener.getsockname()[:2]
    served = ", ".join(f"{model.name} on {model.device}" for model in models)
    _logger.info("dragoman serves %s at http://%s:%s", served, host, port)
    Server(config, lambda: drain(app, settings.drain_seconds)).run(sockets=[listener])


def _read_settings(flags: dict[str, Any]) -> Settings:
    try:
        return read_settings(Settings, flags)
    except ValueError as error:
        _fail(str(error))


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that a port in use is known before the server starts."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family)
    except OSError as error:
        _fail(f"cannot listen on {host} port {port}: {error.strerror or error}")


@main.command()
@click.argument("files", nargs=-1, type=_FILE)
@click.option("--from", "source", required=True, help="Language code of the text, such as zh.")
@click.option("--to", "target", required=True, help="Language code to translate into.")
@click.option(
    "--model",
    "models",
    type=_MODEL,
    multiple=True,
    default=BUNDLED,
    show_default=True,
    help="May be repeated: the first that has the languages translates.",
)
@click.option("--device", type=_DEVICES, default="auto", show_default=True)
@click.option("--precision", type=_PRECISIONS, default="auto", show_default=True)
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
        _fail(str(error))
    output.write(translation)


def _read_texts(files: tuple[Path, ...]) -> str:
    try:
        if not files:
            return sys.stdin.buffer.read().decode("utf-8")
        return "".join(file.read_bytes().decode("utf-8") for file in files)
    except UnicodeDecodeError as error:
        _fail(f"the input is not UTF-8: byte {error.start} is wrong")


@main.command()
@click.argument("recipe", type=_FILE)
@click.option("--run", "directory", type=_DIRECTORY, required=True, help="Where the run lives.")
@click.option("--device", type=_DEVICES, default="auto", show_default=True)
def train(recipe: Path, directory: Path, device: str) -> None:
    """Train as RECIPE (a TOML file) says.

    The run may be interrupted at any time; the same command goes on where it stopped. The finished
    checkpoint is left in the run's directory.
    """
    from model.placement import resolve_device
    from model.training.loop import Trainer
    from model.training.recipe import load_recipe

    try:
        trainer = Trainer(load_recipe(recipe), directory, resolve_device(device))
    except ValueError as error:
        _fail(str(error))
    click.echo(f"finished: {trainer.run()}")


@main.command()
@click.argument("checkpoint", type=_DIRECTORY)
@click.option("--recipe", type=_FILE, required=True, help="Names the corpora to measure on.")
@click.option("--split", type=click.Choice(["dev", "test"]), default="test", show_default=True)
@click.option("--device", type=_DEVICES, default="auto", show_default=True)
@click.option("--precision", type=_PRECISIONS, default="float32", show_default=True)
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
def evaluate(
    checkpoint: Path,
    recipe: Path,
    split: str,
    device: str,
    precision: str,
    lowercase_tokenized: bool,
    max_source_tokens: int | None,
) -> None:
    """Measure CHECKPOINT's BLEU and chrF with sacrebleu, corpus by corpus.

    Every line is translated as the server would translate it.
    """
    from model.training.evaluation import evaluate as measure
    from service.offline import OfflineTranslator

    try:
        translator = OfflineTranslator(
            checkpoint, device, precision, _MEASURED_SLOTS, None, None, max_source_tokens
        )
        scores = measure(translator.translate_all, recipe, split, lowercase_tokenized)
    except ValueError as error:
        _fail(str(error))
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


@main.command()
@click.argument("sources", nargs=-1, type=_DIRECTORY, required=True)
@click.argument("destination", type=_DIRECTORY)
def average(sources: tuple[Path, ...], destination: Path) -> None:
    """Write the mean of the weights of SOURCES as the checkpoint DESTINATION.

    They must have been trained from the same checkpoint, as several second stages are:

    \b
    dragoman average runs/zh-en-longer/checkpoint runs/zh-en-copying/checkpoint averaged
    """
    from model.training.averaging import average_checkpoints

    try:
        average_checkpoints(sources, destination)
    except ValueError as error:
        _fail(str(error))
    click.echo(f"averaged: {destination}")


@main.command("import")
@click.argument("source")
@click.argument("destination", type=_DIRECTORY)
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
    from model.importers.resolve import import_source
    from model.importers.source import Wanted

    try:
        import_source(source, destination, revision, Wanted(sources, targets))
    except (ValueError, OSError) as error:
        _fail(str(error))
    click.echo(f"imported: {destination}")


@main.command()
@click.argument("checkpoint", type=_DIRECTORY)
@click.argument("destination", type=_DIRECTORY)
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
    from model.exporters.huggingface import export_checkpoint

    try:
        export_checkpoint(checkpoint, destination, name)
    except (ValueError, OSError) as error:
        _fail(str(error))
    click.echo(f"exported: {destination}")


def _fail(message: str) -> NoReturn:
    click.echo(f"dragoman: {' '.join(message.split())}", err=True)
    raise SystemExit(_FAILED)
