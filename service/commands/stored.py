"""The server's database as an argument of commands, and its stores, whose errors end a command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from service.commands.arguments import FILE_PATH
from service.commands.process import fail
from service.errors import ServiceError, StorageFailed
from service.settings import Settings
from service.settings.reading import read_settings
from service.stores.database import PATIENT_SECONDS
from service.stores.glossaries import GlossaryStore
from service.stores.keys import KeyStore
from service.stores.suggestions import SuggestionStore

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Store = TypeVar("_Store", GlossaryStore, KeyStore, SuggestionStore)


def database_option(command: _Command) -> _Command:
    """Adds the parameter `database`, from the flag or the server's other settings."""

    def read(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        try:
            path = read_settings(Settings, {"database": value} if value else {}).database
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
        if path is None:
            raise click.BadParameter(
                "there is none: name the server's file with --database or DRAGOMAN_DATABASE"
            )
        return path

    help_text = "The server's SQLite file. [default: DRAGOMAN_DATABASE]"
    return click.option("--database", type=FILE_PATH, callback=read, help=help_text)(command)


@contextlib.contextmanager
def opened(
    open_store: Callable[[Path, float], _Store], path: Path, *, is_new: bool = False
) -> Iterator[_Store]:
    """A store that closes at the end; what the database or the store refuses ends the command with
    one line. `is_new`: the database is created if it is missing."""
    if not is_new and not path.exists():
        fail(f"there is no database {path}")
    try:
        with contextlib.closing(open_store(path, PATIENT_SECONDS)) as store:
            yield store
    except StorageFailed as error:
        fail(f"the database {path} cannot be used: {error.__cause__ or error}", error)
    except ServiceError as error:
        fail(str(error))
