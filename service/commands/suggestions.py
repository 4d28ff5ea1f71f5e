"""The commands for better translations that a server's database has."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from model.text.languages import Languages
from model.training.progress_bar import ProgressBar
from service.commands.arguments import FILE, LANGUAGE, require_different
from service.commands.process import fail
from service.commands.stored import database_option, opened
from service.errors import InvalidDocument
from service.stores.suggestions import SuggestedPair, SuggestionStore
from service.stores.tmx import MAX_UNIT_CHARACTERS, Unit
from service.stores.unit_files import UNIT_FILES, read_units, unit_file_type, write_units

_Command = TypeVar("_Command", bound=Callable[..., Any])
_KIND = click.Choice(UNIT_FILES)
_BATCH = 1000
"""Units in a transaction, for which a server waits that writes too."""
_LAST_ID = 2**63 - 1
"""That SQLite can have."""
_IDS = click.argument(
    "ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(1, _LAST_ID)
)


@click.group()
def suggestions() -> None:
    """Translations that are used instead of the machine's.

    They come from clients at /suggest and from translation memories. A server uses them with
    --suggestions true. An approved suggestion is the answer to its text, in its languages and
    format.
    """


@suggestions.command("list")
@click.option("--approved", is_flag=True, help="Only those in use; else only those that wait.")
@database_option
def list_suggestions(database: Path, approved: bool) -> None:
    """List suggestions, a JSON object a line."""
    with opened(SuggestionStore, database) as store:
        for one in store.read(is_approved=approved):
            shown = {"id": one.id, **one.pair._asdict(), "suggestion": one.suggestion}
            click.echo(json.dumps(shown, ensure_ascii=False))


@suggestions.command("approve")
@_IDS
@database_option
def approve_suggestions(database: Path, ids: tuple[int, ...]) -> None:
    """Put suggestions into use. A running server does so within seconds."""
    with opened(SuggestionStore, database) as store:
        _require_all(store.approve(ids), ids)


@suggestions.command("remove")
@_IDS
@database_option
def remove_suggestions(database: Path, ids: tuple[int, ...]) -> None:
    """Forget suggestions."""
    with opened(SuggestionStore, database) as store:
        _require_all(store.remove(ids), ids)


def _pair(command: _Command) -> _Command:
    """Adds the parameters `source` and `target`."""
    target = click.option("--target", type=LANGUAGE, required=True, help="Target language.")
    source = click.option("--source", type=LANGUAGE, required=True, help="Source language.")
    return source(target(command))


@suggestions.command("import")
@click.argument("file", type=FILE)
@_pair
@click.option(
    "--format", "kind", type=click.Choice(UNIT_FILES), help="Default: by the file's name."
)
@database_option
def import_units(file: Path, source: str, target: str, kind: str | None, database: Path) -> None:
    """Put the units of FILE, a translation memory, into use.

    It is TMX, or TSV or CSV with a text and its translation a line. A variant of a language, such
    as en-US, counts as the language. A running server uses the units within seconds.
    """
    require_different(source, target)
    num_stored = num_skipped = 0
    with opened(SuggestionStore, database, is_new=True) as store:
        try:
            for units in _batches(file, kind or unit_file_type(file), source, target):
                usable = [unit for unit in units if unit is not None]
                pairs = (SuggestedPair(source, target, "auto", unit.source) for unit in usable)
                store.add_approved([*zip(pairs, (unit.target for unit in usable), strict=True)])
                num_stored += len(usable)
                num_skipped += len(units) - len(usable)
        except InvalidDocument as error:
            before = f"; units in use: {num_stored}" if num_stored else ""
            fail(f"{file}: {error}{before}")
    click.echo(f"units in use: {num_stored}")
    if num_skipped:
        reason = f"no text in {source} or {target}, or over {MAX_UNIT_CHARACTERS} characters"
        click.echo(f"units skipped: {num_skipped} ({reason})")


def _batches(file: Path, kind: str, source: str, target: str) -> Iterator[list[Unit | None]]:
    """The file's units, with a progress bar if standard error is a terminal."""
    size = file.stat().st_size
    with (
        file.open("rb") as content,
        ProgressBar(total=size, unit="B", unit_scale=True, disable=None) as bar,
    ):
        units = read_units(content, kind, source, target)
        while batch := list(itertools.islice(units, _BATCH)):
            yield batch
            bar.update(content.tell() - bar.n)


@suggestions.command("export")
@_pair
@click.option("--format", "kind", type=_KIND, default=UNIT_FILES[0])
@database_option
def export_units(source: str, target: str, kind: str, database: Path) -> None:
    """Write the suggestions in use to standard output.

    The file is one that `import` reads. Of several for one text the one that is used comes last.
    """
    find = Languages([source, target]).find
    with (
        opened(SuggestionStore, database) as store,
        contextlib.closing(store.approved()) as approved,  # else the store waits for its end
    ):
        units = (
            Unit(pair.text, suggestion)
            for pair, suggestion in approved
            if (find(pair.source), find(pair.target)) == (source, target)
        )
        for part in write_units(units, kind, source, target):
            click.echo(part, nl=False)


def _require_all(count: int, ids: tuple[int, ...]) -> None:
    if count < len(ids):
        fail(f"{count} of {len(ids)} suggestions were found; see dragoman suggestions list")
