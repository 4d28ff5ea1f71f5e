"""dragoman glossary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.commands.arguments import FILE
from service.commands.failure import fail, importing

if TYPE_CHECKING:
    from service.glossaries import GlossaryStore
    from service.translation.glossary import GlossaryEntry

_DATABASE = click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="DRAGOMAN_DATABASE",
    required=True,
    help="SQLite file of the server (its setting database).",
)
_FORMAT = click.option(
    "--format", "suffix", type=click.Choice(["csv", "tsv"]), help="Default: by the file's name."
)


@click.group()
def glossary() -> None:
    """Terms that translations must have. A server with the same database uses them at once."""


@glossary.command("add")
@click.argument("name")
@click.argument("source_term")
@click.argument("target_term")
@click.option("--from", "source", help="Source language; needed for a new glossary.")
@click.option("--to", "target", help="Target language; needed for a new glossary.")
@click.option("--case-sensitive", is_flag=True)
@_DATABASE
def add(
    name: str,
    source_term: str,
    target_term: str,
    source: str | None,
    target: str | None,
    case_sensitive: bool,
    database: Path,
) -> None:
    """Add a term to the glossary NAME, or replace it."""
    from service.translation.glossary import GlossaryEntry

    entry = GlossaryEntry(source_term, target_term, case_sensitive)
    with importing():
        store = _open(database)
    found = next((one for one in store.all() if one.name == name), None)
    if found is None and not (source and target):
        fail(f"there is no glossary {name!r}; for a new one give --from and --to")
    others = [] if found is None else [e for e in store.entries(name) if e.source != source_term]
    pair = (found.source, found.target) if found else (source or "", target or "")
    _store(store, name, pair, [*others, entry])


@glossary.command("import")
@click.argument("name")
@click.argument("file", type=FILE)
@click.option("--from", "source", required=True, help="Source language.")
@click.option("--to", "target", required=True, help="Target language.")
@_FORMAT
@_DATABASE
def import_file(
    name: str, file: Path, source: str, target: str, suffix: str | None, database: Path
) -> None:
    """Store the CSV or TSV FILE as the glossary NAME."""
    from service.errors import ServiceError
    from service.glossary_files import CSV, TSV, read_entries

    is_tab = (suffix or file.suffix.lstrip(".").lower()) in ("tsv", "tab", "txt")
    try:
        entries = read_entries(file.read_text(encoding="utf-8"), TSV if is_tab else CSV)
    except (ServiceError, UnicodeDecodeError) as error:
        fail(f"{file}: {error}")
    _store(_open(database), name, (source, target), entries)


@glossary.command("export")
@click.argument("name")
@click.option("--format", "suffix", type=click.Choice(["csv", "tsv"]), default="csv")
@_DATABASE
def export_file(name: str, suffix: str, database: Path) -> None:
    """Write the glossary NAME to standard output."""
    from service.glossary_files import CSV, TSV, write_entries

    text = write_entries(_entries(database, name), TSV if suffix == "tsv" else CSV)
    click.echo(text, nl=False)


@glossary.command("show")
@click.argument("name")
@_DATABASE
def show(name: str, database: Path) -> None:
    """Print the terms of the glossary NAME."""
    for entry in _entries(database, name):
        mark = "  (case-sensitive)" if entry.case_sensitive else ""
        click.echo(f"{entry.source} -> {entry.target}{mark}")


@glossary.command("list")
@_DATABASE
def list_all(database: Path) -> None:
    """Print all glossaries: name, languages and number of terms."""
    for found in _open(database).all():
        click.echo(f"{found.name}\t{found.source}-{found.target}\t{found.num_entries}")


@glossary.command("remove")
@click.argument("name")
@_DATABASE
def remove(name: str, database: Path) -> None:
    """Remove the glossary NAME."""
    from service.errors import ServiceError

    try:
        _open(database).remove(name)
    except ServiceError as error:
        fail(str(error))


def _open(database: Path) -> GlossaryStore:
    from service.glossaries import GlossaryStore

    return GlossaryStore(database)


def _entries(database: Path, name: str) -> list[GlossaryEntry]:
    from service.errors import ServiceError

    try:
        return _open(database).entries(name)
    except ServiceError as error:
        fail(str(error))


def _store(
    store: GlossaryStore, name: str, pair: tuple[str, str], entries: list[GlossaryEntry]
) -> None:
    from service.errors import ServiceError

    try:
        found, _ = store.replace(name, *pair, entries)
    except ServiceError as error:
        fail(str(error))
    click.echo(f"{found.name}: {found.source} to {found.target}, {found.num_entries} terms")
