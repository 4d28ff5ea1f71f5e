"""The commands for the glossaries and API keys that a server's database has."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from model.text.languages import Languages
from service.commands.arguments import FILE, LANGUAGE, require_different
from service.commands.process import fail
from service.commands.stored import database_option, opened
from service.errors import UnknownGlossary
from service.stores.api_key import EVERYBODY, ApiKey, KeyOptions, Owner
from service.stores.glossaries import GlossaryStore
from service.stores.glossary_files import CSV, GLOSSARY_FILES, TSV, read_glossary, write_entries
from service.stores.glossary_rows import MAX_ENTRIES, Pair, StoredGlossary
from service.stores.keys import KeyStore, Used, month_of
from service.translation.glossary import GlossaryEntry

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE_TYPE, _SOURCE_TYPE = click.Choice(["csv", "tsv"]), click.Choice([*GLOSSARY_FILES])
_DEFAULT = "default"
_MOST_DIGITS = 15
_LIMITS = {
    "requests_per_minute": "Requests a minute.",
    "characters_per_minute": "Characters a minute.",
    "concurrent_requests": "Requests in progress at the same time.",
}


@click.group()
def glossary() -> None:
    """Terms that translations must have. A server with the same database uses them at once."""


@glossary.command("add")
@click.argument("name")
@click.argument("source_term")
@click.argument("target_term")
@click.option("--from", "source", type=LANGUAGE, help="Source language; needed for a new glossary.")
@click.option("--to", "target", type=LANGUAGE, help="Target language; needed for a new glossary.")
@click.option("--case-sensitive", is_flag=True)
@database_option
def add_term(
    name: str,
    source_term: str,
    target_term: str,
    source: str | None,
    target: str | None,
    case_sensitive: bool,
    database: Path,
) -> None:
    """Add a term to the glossary NAME, or replace it."""
    entry = GlossaryEntry(source_term, target_term, case_sensitive)
    with opened(GlossaryStore, database, is_new=True) as store:
        try:
            found = store.dictionaries(name, EVERYBODY)
        except UnknownGlossary:
            if not (source and target):
                fail(f"there is no glossary {name!r}; for a new one give --from and --to")
            _replace(store, name, (source, target), [entry])
            return
        pair = _pair_of(found, source, target)
        changed = store.change(name, EVERYBODY, dictionaries=[(pair, [entry])])
        _echo_stored(next(one for one in changed if one.pair == pair))


@glossary.command("import")
@click.argument("name")
@click.argument("file", type=FILE)
@click.option("--from", "source", type=LANGUAGE, required=True, help="Source language.")
@click.option("--to", "target", type=LANGUAGE, required=True, help="Target language.")
@click.option("--format", "suffix", type=_SOURCE_TYPE, help="Default: by the file's name.")
@database_option
def import_terms(
    name: str, file: Path, source: str, target: str, suffix: str | None, database: Path
) -> None:
    """Store the terms of FILE as the glossary NAME.

    FILE is CSV, TSV, XLSX or TBX. The terms of a TMX file are its short units.
    """
    entries = read_glossary(file, (source, target), suffix, MAX_ENTRIES)
    with opened(GlossaryStore, database, is_new=True) as store:
        _replace(store, name, (source, target), entries)


def _of_pair(command: _Command) -> _Command:
    """Adds the parameters `source` and `target` of a glossary with several pairs."""
    help_text = "{} language, if it has several pairs; default: the first."
    for flag, name in (("--to", "target"), ("--from", "source")):
        shown = help_text.format(name.capitalize())
        command = click.option(flag, name, type=LANGUAGE, help=shown)(command)
    return command


@glossary.command("export")
@click.argument("name")
@_of_pair
@click.option("--format", "suffix", type=_FILE_TYPE, default="csv")
@database_option
def export_terms(
    name: str, source: str | None, target: str | None, suffix: str, database: Path
) -> None:
    """Write the glossary NAME to standard output."""
    with opened(GlossaryStore, database) as store:
        entries = _entries(store, name, source, target)
    click.echo(write_entries(entries, TSV if suffix == "tsv" else CSV), nl=False)


@glossary.command("show")
@click.argument("name")
@_of_pair
@database_option
def show_terms(name: str, source: str | None, target: str | None, database: Path) -> None:
    """Print the terms of the glossary NAME."""
    with opened(GlossaryStore, database) as store:
        for entry in _entries(store, name, source, target):
            mark = "  (case-sensitive)" if entry.case_sensitive else ""
            click.echo(f"{entry.source} -> {entry.target}{mark}")


@glossary.command("list")
@database_option
def list_glossaries(database: Path) -> None:
    """Print all glossaries: name, languages and number of terms.

    One with several pairs of languages has a line for each. The name of a key's glossary begins
    with the id of the key and a slash; other commands take it so.
    """
    with opened(GlossaryStore, database) as store:
        for found in store.all_dictionaries(EVERYBODY):
            name = Owner(found[0].owner).qualified(found[0].name)
            for one in found:
                click.echo(f"{name}\t{one.source}-{one.target}\t{one.num_entries}")


@glossary.command("remove")
@click.argument("name")
@database_option
def remove_glossary(name: str, database: Path) -> None:
    """Remove the glossary NAME."""
    with opened(GlossaryStore, database) as store:
        store.remove(name, EVERYBODY)


def _entries(
    store: GlossaryStore, name: str, source: str | None, target: str | None
) -> list[GlossaryEntry]:
    pair = _pair_of(store.dictionaries(name, EVERYBODY), source, target)
    return store.entries(name, EVERYBODY, pair)


def _pair_of(found: Sequence[StoredGlossary], source: str | None, target: str | None) -> Pair:
    """Of the first of a glossary's dictionaries that is for the given languages."""
    for one in found:
        languages = zip(one.pair, (source, target), strict=True)
        if all(given is None or Languages([own]).find(given) for own, given in languages):
            return one.pair
    pairs = ", ".join(" to ".join(one.pair) for one in found)
    got = f"--from {source or 'nothing'} --to {target or 'nothing'}"
    fail(f"the glossary {found[0].name!r} is for {pairs}, got {got}")


def _replace(store: GlossaryStore, name: str, pair: Pair, entries: Sequence[GlossaryEntry]) -> None:
    require_different(*pair)
    found, _ = store.replace(name, *pair, entries, EVERYBODY)
    _echo_stored(found)


def _echo_stored(found: StoredGlossary) -> None:
    click.echo(f"{found.name}: {found.source} to {found.target}, terms: {found.num_entries}")


class _Limit(click.ParamType[int | str]):
    """A whole number, or "default"."""

    name = "number|default"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int | str:
        if value == _DEFAULT or (str(value).isdecimal() and len(str(value)) <= _MOST_DIGITS):
            return _DEFAULT if value == _DEFAULT else int(value)
        self.fail(
            f"{value!r} is no whole number of at most {_MOST_DIGITS} digits nor {_DEFAULT}",
            param,
            context,
        )


def _key_options(command: _Command) -> _Command:
    """The options of a key, as flags."""
    for name, meaning in reversed(_LIMITS.items()):
        help_text = f"{meaning} 0: no limit. {_DEFAULT}: as the server's setting."
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, type=_Limit(), help=help_text)(command)
    month = "Quota of characters a month (UTC). 0: none."
    command = click.option(
        "--characters-per-month", type=click.IntRange(0, 10**_MOST_DIGITS - 1), help=month
    )(command)
    expires = "When the key ends, in UTC: 2027-01-31 or 2027-01-31T12:00, or never."
    command = click.option("--expires", "expires_seconds", type=_Time(), help=expires)(command)
    return click.option("--name", help="Whose key it is; shown in the list.")(command)


class _Time(click.ParamType[float | str]):
    """A time, in UTC without an offset, as seconds since the epoch, or "never"."""

    name = "time|never"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float | str:
        if value == "never":
            return "never"
        try:
            ends = datetime.fromisoformat(value)
            return (ends if ends.tzinfo else ends.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            self.fail(f"{value!r} is no time such as 2027-01-31", param, context)


@click.group()
def keys() -> None:
    """Make, list, change and revoke the API keys of a server.

    They are in the server's database. A running server takes changes up within seconds.
    """


@keys.command("create")
@_key_options
@click.option(
    "--admin", "is_admin", is_flag=True, help="It may change all glossaries, and reload models."
)
@database_option
def create_key(database: Path, *, is_admin: bool, **given: int | float | str | None) -> None:
    """Make a key and show it, this one time. Only a digest of it is stored."""
    with opened(KeyStore, database, is_new=True) as store:
        written, key = store.create(_changed(KeyOptions(), given), is_admin=is_admin)
    click.echo(f"id {key.id}", err=True)
    click.echo(written)


@keys.command("list")
@click.option("--json", "is_json", is_flag=True, help="A JSON object a line.")
@database_option
def list_keys(database: Path, is_json: bool) -> None:
    """List the keys, their limits, and what they have used this month."""
    month = month_of(time.time())
    with opened(KeyStore, database) as store:
        usage = store.read_usage(month)
        rows = [_row(key, usage.get((key.id, month), Used())) for key in store.read_keys().values()]
    for row in rows:
        shown = (f"{name}={value}" for name, value in row.items() if value is not None)
        click.echo(json.dumps(row, ensure_ascii=False) if is_json else "  ".join(shown))


@keys.command("change")
@click.argument("key_id", metavar="ID")
@_key_options
@database_option
def change_key(database: Path, key_id: str, **given: int | float | str | None) -> None:
    """Change what is given of the key ID."""
    with opened(KeyStore, database) as store:
        store.change(key_id, _changed(_find(store, key_id).options, given))


@keys.command("revoke")
@click.argument("key_id", metavar="ID")
@database_option
def revoke_key(database: Path, key_id: str) -> None:
    """End the key ID for good."""
    with opened(KeyStore, database) as store:
        store.revoke(_find(store, key_id).id)


def _find(store: KeyStore, key_id: str) -> ApiKey:
    key = store.read_keys().get(key_id)
    return key or fail(f"there is no key with the id {key_id}; see dragoman keys list")


def _changed(options: KeyOptions, given: dict[str, int | float | str | None]) -> KeyOptions:
    """The options with the given ones in their place; "default" and "never" become None."""
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
