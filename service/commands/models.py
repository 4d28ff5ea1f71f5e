"""dragoman models: list, pull, rm and prune the store that servers load models from."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from model.text.languages import shown_pairs
from service.commands.arguments import DIRECTORY, SIZE
from service.commands.process import importing
from service.models.sizing import shown_bytes
from service.settings import Settings, default_models_directory
from service.settings.reading import read_settings

if TYPE_CHECKING:
    from service.models.store import ModelStore, StoredModel

_COLUMNS = "{:<28} {:>9} {:>9} {:>8} {:<9} {:<14} {:<10} {}"
_HEADER = ("name", "disk", "memory", "million", "precision", "licence", "last use", "languages")
_MOST_SHOWN = 60
_DAY_SECONDS = 86_400
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _in_directory(command: _Command) -> _Command:
    """The option that names the directory, before or after the command's name."""
    return click.option(
        "--models-dir",
        type=DIRECTORY,
        envvar="DRAGOMAN_MODELS_DIR",
        show_envvar=True,
        help="The directory, made if it is missing. Default: ~/.local/share/dragoman/models "
        "($XDG_DATA_HOME).",
    )(command)


def _settings(context: click.Context, models_dir: Path | None) -> Settings:
    """Settings with the directory, which is named here or before, in a file, or the default."""
    directory = models_dir or context.obj
    if directory is None and read_settings(Settings, {}).models_dir is None:
        directory = default_models_directory()
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    return read_settings(Settings, {"models_dir": directory} if directory else {})


@click.group(invoke_without_command=True)
@_in_directory
@click.pass_context
def models(context: click.Context, models_dir: Path | None) -> None:
    """List, pull and remove models that servers load on demand.

    \b
    dragoman models pull Helsinki-NLP/opus-mt-de-fr
    dragoman models
    dragoman serve --memory-limit 4GiB

    Without a command the models are listed: size on disk, memory of a server with the settings'
    slots, million parameters, precision, licence, last use and languages. Servers only read the
    directory, so that several can share it.
    """
    context.obj = models_dir
    if context.invoked_subcommand is None:
        _list(_settings(context, models_dir))


def _list(settings: Settings) -> None:
    found = _store(settings).models()
    if not found:
        click.echo("no models; `dragoman models pull NAME` adds one", err=True)
        return
    rows = [(*_HEADER,), *(_row(model, settings) for model in found)]
    for row in rows:
        click.echo(_COLUMNS.format(*row))


def _row(model: StoredModel, settings: Settings) -> tuple[str, ...]:
    memory, precision = _cost(model, settings)
    licence = model.info.origin.get("licence", "-")
    sizes = shown_bytes(model.num_bytes), shown_bytes(memory), _millions(model)
    return model.name, *sizes, precision, licence, _age(model.used), _languages(model)


@models.command()
@click.argument("name")
@click.option("--sha256", help="The SHA-256 of an archive at an address; needed there.")
@click.option("--revision", help="Branch, tag or commit of a Hub model; default: its main branch.")
@click.option(
    "--max-size",
    type=SIZE,
    default="32GiB",
    show_default=True,
    help="The largest download, and the most that an archive unpacks to.",
)
@click.option("--replace", is_flag=True, help="Replace a model of this name from elsewhere.")
@click.option("--source-lang", "sources", multiple=True, help="Language to translate from.")
@click.option("--target-lang", "targets", multiple=True, help="Language to translate into.")
@_in_directory
@click.pass_context
def pull(
    context: click.Context,
    name: str,
    sha256: str | None,
    revision: str | None,
    max_size: int,
    replace: bool,
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    models_dir: Path | None,
) -> None:
    """Add the model NAME, or replace it by its current version.

    NAME is a Hub id, a bundled model, a directory, or the address of an archive (https: or file:).
    The model is converted once and checked as by `dragoman check`. Without PyTorch only checkpoints
    can be added, and their translations are not checked. After an interruption the same command
    goes on. A server that uses an older version takes the new one within seconds. A model
    of the same name from another Hub account or host is refused, unless --replace is given.
    """
    with importing():
        from model.importers.imported import Wanted
        from service.models.pull import Source, pull

    settings, wanted = _settings(context, models_dir), Wanted(sources, targets)
    source = Source(name, max_size, sha256, revision, is_replacing=replace, wanted=wanted)
    model = pull(_store(settings), source)
    memory, precision = _cost(model, settings)
    click.echo(
        f"pulled: {model.name} ({_languages(model)}), {_millions(model)} million parameters, "
        f"{shown_bytes(model.num_bytes)} on disk; a server needs {shown_bytes(memory)} of memory "
        f"for it in {precision}"
    )


@models.command()
@click.argument("names", nargs=-1, required=True)
@_in_directory
@click.pass_context
def rm(context: click.Context, names: tuple[str, ...], models_dir: Path | None) -> None:
    """Remove models. A server that has one loaded serves it until it stops or leaves."""
    store = _store(_settings(context, models_dir))
    for name in names:
        click.echo(f"removed: {name}, {shown_bytes(store.remove(name))}")


@models.command()
@_in_directory
@click.pass_context
def prune(context: click.Context, models_dir: Path | None) -> None:
    """Remove replaced versions and unfinished downloads."""
    store = _store(_settings(context, models_dir))
    click.echo(f"removed: {shown_bytes(store.prune())}")


def _store(settings: Settings) -> ModelStore:
    with importing():
        from service.models.store import ModelStore
    assert settings.models_dir is not None
    return ModelStore(settings.models_dir)


def _cost(model: StoredModel, settings: Settings) -> tuple[int, str]:
    """The memory of the model in a server with these settings, and its precision."""
    with importing():
        from service.models.loading import memory_limit, plan_model
    plan = plan_model(model.path, model.info, settings)
    try:
        sizes = plan.sizes_within(memory_limit(settings))
    except ValueError:
        sizes = plan.demand().wanted
    return plan.num_bytes(sizes), plan.placement.precision


def _millions(model: StoredModel) -> str:
    from model.backends.memory import weight_bytes

    return f"{weight_bytes(model.info.architecture, 'float32') / 4e6:.1f}"


def _languages(model: StoredModel) -> str:
    text = shown_pairs(model.info.pairs)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _age(used: float | None) -> str:
    if used is None:
        return "never"
    days = int((time.time() - used) / _DAY_SECONDS)
    return f"{days} d ago" if days else "today"
