"""The commands for better translations that a server's database has."""

from __future__ import annotations

import json
from pathlib import Path

import click

from service.commands.process import fail
from service.commands.stored import database_option, opened
from service.stores.suggestions import SuggestionStore

_IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(1))


@click.group()
def suggestions() -> None:
    """Read what clients suggested at /suggest, and put it into use.

    An approved suggestion is the answer to exactly its text, in its languages and format.
    """


@suggestions.command("list")
@click.option("--approved", is_flag=True, help="Only those in use; else only those that wait.")
@database_option
def list_suggestions(database: Path, approved: bool) -> None:
    """List suggestions, a JSON object a line."""
    with opened(SuggestionStore, database) as store:
        for one in store.read():
            if one.is_approved == approved:
                shown = {"id": one.id, **one.pair._asdict(), "suggestion": one.suggestion}
                click.echo(json.dumps(shown, ensure_ascii=False))


@suggestions.command("approve")
@_IDS
@database_option
def approve_suggestions(database: Path, ids: tuple[int, ...]) -> None:
    """Put suggestions into use; a running server does so within seconds."""
    with opened(SuggestionStore, database) as store:
        _require_all(store.approve(ids), ids)


@suggestions.command("remove")
@_IDS
@database_option
def remove_suggestions(database: Path, ids: tuple[int, ...]) -> None:
    """Forget suggestions."""
    with opened(SuggestionStore, database) as store:
        _require_all(store.remove(ids), ids)


def _require_all(count: int, ids: tuple[int, ...]) -> None:
    if count < len(ids):
        fail(f"{count} of {len(ids)} suggestions were found; see dragoman suggestions list")
