"""dragoman glossary."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.commands.arguments import FILE, required_database
from service.commands.failure import fail, importing
from service.commands.stores import opened
from service.stores.api_key import EVERYBODY, Owner

if TYPE_CHECKING:
    from service.stores.glossaries import GlossaryStore
    from service.translation.glossary import GlossaryEntry

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
@required_database
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
    from service.errors import UnknownGlossary
    from service.translation.glossary import GlossaryEntry

    entry = GlossaryEntry(source_term, target_term, case_sensitive)
    with _opened(database, is_new=True) as store:
        try:
            found = store.get(name, EVERYBODY)
        except UnknownGlossary:
            if not (source and target):
                fail(f"there is no glossary {name!r}; for a new one give --from and --to")
            _replace(store, name, (source, target), [entry])
            return
        others = [one for one in store.entries(name, EVERYBODY) if one.source != source_term]
        _replace(store, name, (found.source, found.target), [*others, entry])


@glossary.command("import")
@click.argument("name")
@click.argument("file", type=FILE)
@click.option("--from", "source", required=True, help="Source language.")
@click.option("--to", "target", required=True, help="Target language.")
@_FORMAT
@required_database
def import_file(
    name: str, file: Path, source: str, target: str, suffix: str | None, database: Path
) -> None:
    """Store the CSV or TSV FILE as the glossary NAME."""
    from service.errors import ServiceError
    from service.glossary_files import CSV, TSV, is_tab_separated, read_entries

    is_tab = is_tab_separated(suffix or file.suffix.lstrip("."))
    try:
        entries = read_entries(file.read_text(encoding="utf-8"), TSV if is_tab else CSV)
    except (ServiceError, UnicodeDecodeError) as error:
        fail(f"{file}: {error}")
    with _opened(database, is_new=True) as store:
        _replace(store, name, (source, target), entries)


@glossary.command("export")
@click.argument("name")
@click.option("--format", "suffix", type=click.Choice(["csv", "tsv"]), default="csv")
@required_database
def export_file(name: str, suffix: str, database: Path) -> None:
    """Write the glossary NAME to standard output."""
    from service.glossary_files import CSV, TSV, write_entries

    text = write_entries(_entries(database, name), TSV if suffix == "tsv" else CSV)
    click.echo(text, nl=False)


@glossary.command("show")
@click.argument("name")
@required_database
def show(name: str, database: Path) -> None:
    """Print the terms of the glossary NAME."""
    for entry in _entries(database, name):
        mark = "  (case-sensitive)" if entry.case_sensitive else ""
        click.echo(f"{entry.source} -> {entry.target}{mark}")


@glossary.command("list")
@required_database
def list_all(database: Path) -> None:
    """Print all glossaries: name, languages and number of terms.

    The name of a key's glossary begins with the id of the key and a slash; other commands take it
    so.
    """
    with _opened(database) as store:
        for one in store.all(EVERYBODY):
            name = Owner(one.owner).qualified(one.name)
            click.echo(f"{name}\t{one.source}-{one.target}\t{one.num_entries}")


@glossary.command("remove")
@click.argument("name")
@required_database
def remove(name: str, database: Path) -> None:
    """Remove the glossary NAME."""
    with _opened(database) as store:
        store.remove(name, EVERYBODY)


def _opened(database: Path, *, is_new: bool = False) -> AbstractContextManager[GlossaryStore]:
    with importing():
        from service.stores.glossaries import GlossaryStore
    return opened(GlossaryStore, database, is_new=is_new)


def _entries(database: Path, name: str) -> list[GlossaryEntry]:
    with _opened(database) as store:
        return store.entries(name, EVERYBODY)


def _replace(
    store: GlossaryStore, name: str, pair: tuple[str, str], entries: list[GlossaryEntry]
) -> None:
    found, _ = store.replace(name, *pair, entries, EVERYBODY)
    click.echo(f"{found.name}: {found.source} to {found.target}, {found.num_entries} terms")
