"""The READMEs and the documentation's pages name what exists, and their tables are current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tables import TABLES, with_tables
from model.checkpoint.bundled import BUNDLED_NAMES
from service.settings import Settings

ROOT = Path(__file__).parents[1]
READMES = ["README.md", "README.zh-CN.md"]
PAGES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
MOST_LINES = {"README.md": 250, "README.zh-CN.md": 150}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_shows_settings_as_they_are() -> None:
    rows = re.findall(r"^\| `--([a-z-]+)` \| `([^`]*)` \|", read("README.md"), re.MULTILINE)
    assert len(rows) >= 10
    for flag, shown in rows:
        name = flag.replace("-", "_")
        default = (
            ",".join(BUNDLED_NAMES) if name == "model" else Settings.model_fields[name].default
        )
        assert shown == str(default), flag


@pytest.mark.parametrize("name", ["docs/settings.md", "docs/metrics.md", "docs/api.md"])
def test_the_tables_of_a_page_are_those_of_the_code(name: str) -> None:
    assert with_tables(read(name)) == read(name), "run make tables"


@pytest.mark.parametrize("name", TABLES)
def test_each_table_stands_in_a_page_and_has_no_empty_cell(name: str) -> None:
    assert sum(f"<!-- table: {name} -->" in read(page) for page in PAGES) == 1
    rows = [line.strip("| ").split(" | ") for line in TABLES[name]().splitlines()[2:]]
    assert len(rows) > 10
    assert all(all(row) for row in rows)


@pytest.mark.parametrize("name", READMES)
def test_a_readme_is_short(name: str) -> None:
    assert len(read(name).splitlines()) <= MOST_LINES[name]


@pytest.mark.parametrize("name", [*READMES, *PAGES])
def test_the_files_it_names_exist(name: str) -> None:
    text = read(name)
    for path in re.findall(r"`((?:service|model|tests|recipes|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert ((ROOT / name).parent / link).exists(), link


@pytest.mark.parametrize("name", [*READMES, *PAGES])
def test_a_table_begins_with_a_header(name: str) -> None:
    """Rows after a blank line are shown as text."""
    lines = ["", *read(name).splitlines(), ""]
    begins = [i for i, line in enumerate(lines) if line[:1] == "|" != lines[i - 1][:1]]
    for i in begins:
        assert re.fullmatch(r"\|( *:?-+:? *\|)+", lines[i + 1]), lines[i]


def test_pages_have_the_figures_of_the_engines_from_one_measurement() -> None:
    """The table of the page on performance is what was measured; others quote it."""
    measured, quoted = (
        re.findall(r"^\| \d+ \| \d (?:\| \d+ ){4}(?=\|)", read(page), re.MULTILINE)
        for page in ("docs/performance.md", "README.md")
    )
    rows = [one.strip("| ").split(" | ") for one in measured]
    bundled, opus = rows[:4], rows[4:]
    assert quoted == measured[:4]
    int8 = [f"{alone[2]} / {many[2]}" for _, alone, _, many in (bundled, opus)]
    assert f"beam 4: one sentence / 32 at a time | {int8[0]} | {int8[1]} |" in read(
        "docs/sizing.md"
    )


def test_the_page_on_the_architecture_names_each_stage() -> None:
    modules = (ROOT / "service/translation/sentence").glob("*.py")
    code = "\n".join(module.read_text("utf-8") for module in modules)
    entered = {*re.findall(r"^def enter_(\w+)", code, re.MULTILINE)} - {"title"}
    (told,) = re.findall(r"Stages in order: ([^.]+)\.", read("docs/architecture.md"))
    assert {*re.findall(r"`(\w+)`", told)} == entered | {"sentence_part", "terms"}
