"""The READMEs and the documentation's pages name what exists, and their tables hold all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.tables import on_page_markdown
from model.bundled import BUNDLED_NAMES
from service.errors import ServiceError
from service.http.schemas import TranslateRequest
from service.observability.metrics import Metrics
from service.settings import Settings

ROOT = Path(__file__).parents[1]
READMES = ["README.md", "README.zh-CN.md"]
PAGES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
MOST_LINES = {"README.md": 250, "README.zh-CN.md": 150}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_setting_is_documented_with_its_flag_and_default() -> None:
    table = on_page_markdown(read("docs/settings.md"))
    for name, field in Settings.model_fields.items():
        defaults = BUNDLED_NAMES if name == "model" else field.default
        listed = ",".join(defaults) or "none" if isinstance(defaults, tuple) else None
        default = str(defaults) if listed is None else listed
        row = f"| `--{name.replace('_', '-')}` | `DRAGOMAN_{name.upper()}` | `{default}` |"
        assert row in table


def test_the_readme_shows_settings_as_they_are() -> None:
    rows = re.findall(r"^\| `--([a-z-]+)` \| `([^`]*)` \|", read("README.md"), re.MULTILINE)
    assert len(rows) >= 10
    for flag, shown in rows:
        name = flag.replace("-", "_")
        default = (
            ",".join(BUNDLED_NAMES) if name == "model" else Settings.model_fields[name].default
        )
        assert shown == str(default), flag


def test_every_metric_is_documented() -> None:
    table = on_page_markdown(read("docs/metrics.md"))
    own = [f for f in Metrics().registry.collect() if f.name.startswith("dragoman_")]
    assert len(own) > 20
    assert all(f"| `{family.name}" in table for family in own)


def test_every_field_and_every_error_is_documented() -> None:
    page = on_page_markdown(read("docs/api.md"))
    assert all(f"| `{name}` |" in page for name in TranslateRequest.model_fields)
    for kind in ServiceError.__subclasses__():
        assert f"| {kind.status} | `{kind.code}` |" in page


@pytest.mark.parametrize("name", READMES)
def test_a_readme_is_short(name: str) -> None:
    assert len(read(name).splitlines()) <= MOST_LINES[name]


@pytest.mark.parametrize("name", READMES)
def test_the_commands_it_tells_to_run_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    lines = re.findall(r"^make ([a-z -]+)", read(name), re.MULTILINE)
    told = {target for line in lines for target in line.split()}
    assert {"serve", "test"} <= told <= targets


@pytest.mark.parametrize("name", [*READMES, *PAGES])
def test_the_files_it_names_exist(name: str) -> None:
    text = read(name)
    for path in re.findall(r"`((?:service|model|tests|recipes|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert ((ROOT / name).parent / link).exists(), link
