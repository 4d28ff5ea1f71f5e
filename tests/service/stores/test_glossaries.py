"""Stored glossaries and their files."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from service.commands.group import dragoman
from service.errors import GlossaryExists, InvalidField, UnknownGlossary
from service.stores.api_key import EVERYBODY, Owner
from service.stores.glossaries import GlossaryStore
from service.stores.glossary_files import (
    CSV,
    TSV,
    read_entries,
    read_glossary,
    write_entries,
)
from service.stores.glossary_rows import MAX_ENTRIES, merge_entries
from service.stores.tmx import Unit, write_tmx
from service.translation.glossary import GlossaryEntry

ENTRIES = [GlossaryEntry("dog", "Köter"), GlossaryEntry("US", "USA", True)]
MORE = GlossaryEntry("cow", "Kuh")
Open = Callable[..., GlossaryStore]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Open]:
    """Opens stores of one database until the test ends."""
    with ExitStack() as opened:

        def store(**limits: int) -> GlossaryStore:
            return opened.enter_context(closing(GlossaryStore(tmp_path / "d.sqlite", **limits)))

        yield store


@pytest.fixture
def store(open_store: Open) -> GlossaryStore:
    return open_store()


def test_a_glossary_is_kept_between_starts(open_store: Open) -> None:
    made = open_store().add("pets", "en", "de", ENTRIES, EVERYBODY)
    again = open_store()
    assert again.all(EVERYBODY) == [made]
    assert again.entries("pets", EVERYBODY) == again.entries(made.id, EVERYBODY) == ENTRIES
    glossary = again.load("pets", EVERYBODY)
    assert (glossary.pair, glossary.entries) == (("en", "de"), ENTRIES)
    assert again.load("pets", EVERYBODY) is glossary


def test_a_change_is_seen_by_another_process(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.add("pets", "en", "de", ENTRIES, EVERYBODY)
    assert len(other.load("pets", EVERYBODY).entries) == 2
    one.replace("pets", "de", "en", ENTRIES[:1], EVERYBODY)
    assert other.load("pets", EVERYBODY).pair == ("de", "en")
    assert len(other.load("pets", EVERYBODY).entries) == 1
    one.remove("pets", EVERYBODY)
    with pytest.raises(UnknownGlossary, match="glossary 'pets'$"):
        other.load("pets", EVERYBODY)
    with pytest.raises(UnknownGlossary, match="glossary 'pets' that you may change$"):
        other.remove("pets", EVERYBODY)


def test_names_are_unique_and_bounded(store: GlossaryStore) -> None:
    store.add("pets", "en", "de", ENTRIES, EVERYBODY)
    with pytest.raises(GlossaryExists):
        store.add("pets", "en", "de", ENTRIES, EVERYBODY)
    for name in ("", " ", "a" * 1025, "a\nb"):
        with pytest.raises(InvalidField):
            store.add(name, "en", "de", ENTRIES, EVERYBODY)
    with pytest.raises(InvalidField, match="at least one"):
        store.add("empty", "en", "de", [], EVERYBODY)
    with pytest.raises(InvalidField, match=f"at most {MAX_ENTRIES}"):
        store.add("many", "en", "de", ENTRIES * MAX_ENTRIES, EVERYBODY)
    assert [found.name for found in store.all(EVERYBODY)] == ["pets"]


def test_what_belongs_to_nobody_is_limited_as_what_an_owner_has(open_store: Open) -> None:
    store = open_store(max_glossaries=2, max_terms=3)
    for owner in (EVERYBODY, Owner("one")):
        store.add("a", "en", "de", ENTRIES, owner)
        with pytest.raises(InvalidField, match="would be 4 terms in glossaries, at most 3"):
            store.add("b", "en", "de", ENTRIES, owner)
        store.add("b", "en", "de", ENTRIES[:1], owner)
        with pytest.raises(InvalidField, match="would be 3 glossaries, at most 2"):
            store.add("c", "en", "de", ENTRIES[:1], owner)


def test_what_adds_nothing_is_taken_where_more_is_stored_than_may_be(
    store: GlossaryStore, open_store: Open
) -> None:
    """As after an operator lowered a limit."""
    for owner, name in itertools.product((EVERYBODY, Owner("one")), "ab"):
        both = [(("en", "de"), ENTRIES), (("de", "en"), ENTRIES)]
        store.add_dictionaries(name, both, owner)
    store = open_store(max_glossaries=1, max_terms=1)
    for owner in (EVERYBODY, Owner("one")):
        store.change("a", owner, "c", [(("en", "de"), ENTRIES)])
        store.put_dictionary("c", ("de", "en"), ENTRIES, owner)
        with pytest.raises(InvalidField, match="would be 5 glossaries, at most 1"):
            store.put_dictionary("c", ("en", "zh"), ENTRIES, owner)
        with pytest.raises(InvalidField, match="would be 9 terms in glossaries, at most 1"):
            store.put_dictionary("c", ("de", "en"), [*ENTRIES, MORE], owner)
        assert not store.replace("c", "en", "de", ENTRIES, owner)[1]
        with pytest.raises(InvalidField, match="at most 1"):
            store.add("d", "en", "de", ENTRIES, owner)


def test_a_change_of_several_dictionaries_is_stored_whole_or_not_at_all(
    store: GlossaryStore,
) -> None:
    many = [GlossaryEntry(str(number), "a") for number in range(MAX_ENTRIES + 1)]
    given = [(("en", "de"), ENTRIES), (("en", "zh"), [])]
    with pytest.raises(InvalidField, match="at least one"):
        store.add_dictionaries("pets", given, EVERYBODY)
    assert store.all_dictionaries(EVERYBODY) == []
    made = store.add("pets", "en", "de", ENTRIES, EVERYBODY)
    parts = [(("en", "zh"), many[:9]), (("en", "de"), many[:-1])]
    with pytest.raises(InvalidField, match=f"at most {MAX_ENTRIES}"):
        store.change("pets", EVERYBODY, "beasts", parts)
    assert store.all_dictionaries(EVERYBODY) == [[made]]


@pytest.mark.parametrize("wrong", [GlossaryEntry(" ", "a"), GlossaryEntry("a", "x" * 10_000)])
def test_no_way_of_writing_stores_a_term_that_no_request_may_have(
    store: GlossaryStore, wrong: GlossaryEntry
) -> None:
    pair, entries = ("en", "de"), [*ENTRIES, wrong]
    made = store.add("pets", *pair, ENTRIES, EVERYBODY)
    for write in (
        lambda: store.add("beasts", *pair, entries, EVERYBODY),
        lambda: store.replace("pets", *pair, entries, EVERYBODY),
        lambda: store.change("pets", EVERYBODY, dictionaries=[(pair, entries)]),
        lambda: store.put_dictionary("pets", pair, entries, EVERYBODY),
    ):
        with pytest.raises(InvalidField, match="of term 3 must have 1 to"):
            write()
    assert store.all_dictionaries(EVERYBODY) == [[made]]


def test_what_takes_a_glossarys_place_takes_that_of_all_its_dictionaries(
    store: GlossaryStore,
) -> None:
    given = [(("en", "de"), ENTRIES), (("de", "en"), ENTRIES)]
    store.add_dictionaries("pets", given, EVERYBODY)
    replaced, _ = store.replace("pets", "de", "en", ENTRIES[:1], EVERYBODY)
    assert store.all_dictionaries(EVERYBODY) == [[replaced]]
    assert (replaced.pair, replaced.num_entries) == (("de", "en"), 1)


def test_a_glossary_goes_with_all_its_dictionaries_and_terms(
    open_store: Open, tmp_path: Path
) -> None:
    store = open_store(max_glossaries=2, max_terms=4)
    given = [(("en", "de"), ENTRIES), (("de", "en"), ENTRIES)]
    for name in ("pets", "beasts"):
        store.add_dictionaries(name, given, EVERYBODY)
        store.remove(name, EVERYBODY)
        assert store.all_dictionaries(EVERYBODY) == []
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection:
        assert not connection.execute("SELECT 1 FROM glossary_entries").fetchall()


def test_merged_terms_take_the_places_of_their_sources(store: GlossaryStore) -> None:
    store.add("pets", "en", "de", [*ENTRIES, GlossaryEntry("dog", "Hund", True)], EVERYBODY)
    pair, cat = ("en", "de"), GlossaryEntry("cat", "Katze")
    parts = [(pair, [cat, GlossaryEntry("dog", "x")]), (pair, [GlossaryEntry("dog", "Hündin")])]
    store.change("pets", EVERYBODY, dictionaries=parts)
    assert store.entries("pets", EVERYBODY) == [GlossaryEntry("dog", "Hündin"), ENTRIES[1], cat]


def test_only_the_terms_that_are_merged_are_written(store: GlossaryStore, tmp_path: Path) -> None:
    terms = [GlossaryEntry(str(number), "a") for number in range(MAX_ENTRIES - 1)]
    key = store.add("pets", "en", "de", terms, EVERYBODY).id
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as connection:
        merge_entries(connection, key, [GlossaryEntry("5", "b"), GlossaryEntry("new", "b")])
        assert connection.total_changes == 4  # one removed, two added, a new version


@pytest.mark.parametrize("media_type", [CSV, TSV])
@given(entries=st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1), st.booleans())))
@example(entries=[("a\rb", 'c,\r\n"d', False)])
def test_what_is_written_is_read(media_type: str, entries: list[tuple[str, str, bool]]) -> None:
    kept = str.strip if media_type == CSV else lambda side: " ".join(side.split())
    cleaned = [
        GlossaryEntry(kept(s), kept(t), flag)
        for s, t, flag in entries
        if s.strip() and t.strip() and "\ufeff" not in s + t and "\x00" not in s + t
    ]
    assert read_entries(write_entries(cleaned, media_type), media_type) == cleaned


def test_files_of_deepl_and_broken_files() -> None:
    assert read_entries("\ufeffa,b,en,de\n\n", CSV) == [GlossaryEntry("a", "b")]
    assert read_entries('a\t"b', TSV) == [GlossaryEntry("a", '"b')]
    for text, media_type in (("a", CSV), ('"a', CSV), ("a b", TSV)):
        with pytest.raises(InvalidField, match="line 1 of the glossary"):
            read_entries(text, media_type)


def test_a_file_of_any_encoding_is_read_and_half_a_term_refused(tmp_path: Path) -> None:
    file = tmp_path / "half.csv"
    file.write_text("coffee,Kaffee\ntea,\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"half\.csv: glossary: target of term 2 must have"):
        read_glossary(file, ("en", "de"))
    for encoding in ("utf-8-sig", "utf-16", "gbk"):
        file.write_bytes("咖啡,Kaffee\n图书馆,Bibliothek\n今天的天气,das Wetter\n".encode(encoding))
        assert read_glossary(file, ("en", "de"))[1] == GlossaryEntry("图书馆", "Bibliothek")


def test_the_short_units_of_a_memory_are_terms(tmp_path: Path) -> None:
    database, file = str(tmp_path / "d.sqlite"), tmp_path / "memory.tmx"
    units = [
        ("house", "Haus"),
        ("dog", "Hund"),
        ("dog", "Köter"),
        ("I like it.", "Es gefällt mir."),
        ("Open <b0>it</b0>", "<b0>Öffne</b0> es"),
        ("x" * 51, "lang"),
    ]
    file.write_text("".join(write_tmx(itertools.starmap(Unit, units), "en-GB", "de")), "utf-8")
    options = ["--from", "en", "--to", "de", "--database", database]
    done = CliRunner().invoke(dragoman, ["glossary", "import", "mine", str(file), *options])
    assert done.output == "mine: en to de, terms: 2\n"
    assert read_glossary(file, ("en", "de")) == [
        GlossaryEntry("house", "Haus"),
        GlossaryEntry("dog", "Köter"),
    ]
    with pytest.raises(ValueError, match="it has no unit from en to fr of at most 50 characters"):
        read_glossary(file, ("en", "fr"))
    file.write_text("<tmx>", "utf-8")
    with pytest.raises(ValueError, match=r"memory\.tmx: it is no valid XML"):
        read_glossary(file, ("en", "de"))


def test_the_command_keeps_glossaries(tmp_path: Path) -> None:
    database, file = str(tmp_path / "d.sqlite"), tmp_path / "pets.tsv"
    file.write_text("cat\tMieze\n", encoding="utf-8")

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(dragoman, ["glossary", *arguments, "--database", database])
        return f"{result.exit_code} {result.output}"

    assert run("add", "pets", "dog", "Köter").startswith("2 ")
    assert run("add", "pets", "dog", "Köter", "--from", "en", "--to", "de").startswith("0 ")
    assert run("add", "pets", "US", "USA", "--case-sensitive") == "0 pets: en to de, terms: 2\n"
    assert run("add", "pets", "US", "USA", "--case-sensitive", "--to", "de-CH").startswith("0 ")
    assert "'pets' is for en to de, got --from de --to" in run(
        "add", "pets", "a", "b", "--from", "de"
    )
    assert run("show", "pets") == "0 dog -> Köter\nUS -> USA  (case-sensitive)\n"
    assert run("export", "pets") == "0 dog,Köter\nUS,USA,case_sensitive\n"
    imported = run("import", "cats", str(file), "--from", "en", "--to", "de")
    assert imported == "0 cats: en to de, terms: 1\n"
    assert run("list") == "0 cats\ten-de\t1\npets\ten-de\t2\n"
    with closing(GlossaryStore(Path(database))) as store:
        store.change("cats", EVERYBODY, None, [(("de", "en"), [GlossaryEntry("Katze", "puss")])])
    assert run("list") == "0 cats\ten-de\t1\ncats\tde-en\t1\npets\ten-de\t2\n"
    assert run("export", "cats", "--from", "de") == "0 Katze,puss\n"
    assert run("show", "cats", "--to", "de-AT") == "0 cat -> Mieze\n"
    assert "'cats' is for en to de, de to en, got" in run("show", "cats", "--to", "fr")
    assert run("remove", "pets") == "0 "
    assert run("show", "pets").startswith("2 ")
