"""dragoman keys create | list | change | revoke."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from service.commands.arguments import required_database
from service.commands.failure import fail
from service.commands.stores import opened
from service.stores.api_key import ApiKey, KeyOptions
from service.stores.keys import KeyStore, Used, month_of

_Command = TypeVar("_Command", bound=Callable[..., Any])
_DEFAULT = "default"
_LIMITS = {
    "requests_per_minute": "Requests in any 60 seconds.",
    "characters_per_minute": "Characters in any 60 seconds.",
    "concurrent_requests": "Requests in progress at the same time.",
}


class _Limit(click.ParamType[int | str]):
    """A whole number, or "default"."""

    name = "number|default"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int | str:
        if value == _DEFAULT or (str(value).isdecimal() and len(str(value)) <= 15):
            return _DEFAULT if value == _DEFAULT else int(value)
        self.fail(f"{value!r} is neither a whole number nor {_DEFAULT}", param, context)


def _key_options(command: _Command) -> _Command:
    """The options of a key, as flags."""
    for name, meaning in reversed(_LIMITS.items()):
        help_text = f"{meaning} 0: no limit. {_DEFAULT}: as the server's setting."
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, type=_Limit(), help=help_text)(command)
    month = "Quota of characters a month (UTC). 0: none."
    command = click.option("--characters-per-month", type=click.IntRange(0), help=month)(command)
    expires = "When the key ends, in UTC: 2027-01-31 or 2027-01-31T12:00, or never."
    command = click.option("--expires", "expires_seconds", type=_Time(), help=expires)(command)
    return click.option("--name", help="Whose key it is; shown in the list.")(command)


class _Time(click.ParamType[float | str]):
    """A time in UTC as seconds since the epoch, or "never"."""

    name = "time|never"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float | str:
        if value == "never":
            return "never"
        try:
            return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
        except ValueError:
            self.fail(f"{value!r} is no time such as 2027-01-31", param, context)


@click.group()
def keys() -> None:
    """Make, list, change and revoke the API keys of a server.

    They are in the server's database. A running server takes changes up within seconds.
    """


@keys.command()
@_key_options
@click.option("--admin", "is_admin", is_flag=True, help="It may change the glossaries of all keys.")
@required_database
def create(database: Path, *, is_admin: bool, **given: int | float | str | None) -> None:
    """Make a key and show it, this one time: only a digest of it is stored."""
    with opened(KeyStore, database, is_new=True) as store:
        written, key = store.create(_changed(KeyOptions(), given), is_admin=is_admin)
    click.echo(f"id {key.id}", err=True)
    click.echo(written)


@keys.command("list")
@click.option("--json", "is_json", is_flag=True, help="A JSON object a line.")
@required_database
def list_(database: Path, is_json: bool) -> None:
    """List the keys, their limits, and the characters they have used this month."""
    month = month_of(time.time())
    with opened(KeyStore, database) as store:
        usage = store.read_usage(month)
        rows = [_row(key, usage.get((key.id, month), Used())) for key in store.read_keys().values()]
    for row in rows:
        shown = (f"{name}={value}" for name, value in row.items() if value is not None)
        click.echo(json.dumps(row, ensure_ascii=False) if is_json else "  ".join(shown))


@keys.command()
@click.argument("key_id", metavar="ID")
@_key_options
@required_database
def change(database: Path, key_id: str, **given: int | float | str | None) -> None:
    """Change what is given of the key ID."""
    with opened(KeyStore, database) as store:
        store.change(key_id, _changed(_find(store, key_id).options, given))


@keys.command()
@click.argument("key_id", metavar="ID")
@required_database
def revoke(database: Path, key_id: str) -> None:
    """End the key ID for good."""
    with opened(KeyStore, database) as store:
        store.revoke(_find(store, key_id).id)


def _find(store: KeyStore, key_id: str) -> ApiKey:
    key = store.read_keys().get(key_id)
    return key or fail(f"there is no key with the id {key_id}; see dragoman keys list")


def _changed(options: KeyOptions, given: dict[str, int | float | str | None]) -> KeyOptions:
    """The options with those that are given; "default" and "never" stand for None."""
    values: dict[str, Any] = {
        name: None if name != "name" and value in (_DEFAULT, "never") else value
        for name, value in given.items()
        if value is not None
    }
    return dataclasses.replace(options, **values)


def _row(key: ApiKey, used: Used) -> dict[str, int | str | None]:
    options = key.options
    expires = options.expires_seconds
    return {
        "id": key.id,
        "name": options.name,
        "state": _state(key),
        "admin": key.is_admin or None,
        "created": _date(key.created_seconds),
        "expires": None if expires is None else _date(expires),
        "requests_this_month": used.requests,
        "characters_this_month": used.characters,
        "characters_per_month": options.characters_per_month,
        **{name: getattr(options, name) for name in _LIMITS},
    }


def _state(key: ApiKey) -> str:
    if key.revoked_seconds is not None:
        return "revoked"
    return "valid" if key.is_valid(time.time()) else "expired"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%MZ")
