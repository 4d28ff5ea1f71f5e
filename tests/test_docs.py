"""The READMEs name every setting, flag, metric and make target that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.bundled import BUNDLED_NAMES
from service.observability.metrics import Metrics
from service.settings import Settings

ROOT = Path(__file__).parents[1]
READMES = ["README.md", "README.zh-CN.md"]


@pytest.fixture(params=READMES)
def readme(request: pytest.FixtureRequest) -> str:
    return (ROOT / request.param).read_text(encoding="utf-8")


def test_every_setting_is_documented_with_its_flag_and_default(readme: str) -> None:
    for name, field in Settings.model_fields.items():
        default = ",".join(BUNDLED_NAMES) if name == "model" else str(field.default)
        row = rf"\| `--{name.replace('_', '-')}` \| `DRAGOMAN_{name.upper()}` \| "
        assert re.search(row + rf"`{re.escape(default)}`", readme), name


def test_every_metric_is_documented_and_every_documented_one_exists(readme: str) -> None:
    metrics = Metrics()
    existing = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in metrics.registry.collect()
        if family.name.startswith("dragoman_")
    }
    assert set(re.findall(r"\| `(dragoman_\w+)` \|", readme)) == existing


def test_the_commands_it_tells_to_run_exist(readme: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    told = {
        t for line in re.findall(r"^make ([a-z -]+)", readme, re.MULTILINE) for t in line.split()
    }
    assert {"serve", "test"} <= told <= targets


def test_the_files_it_names_exist(readme: str) -> None:
    for path in re.findall(r"`((?:service|model|tests|recipes)/[\w./-]+)`", readme):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", readme):
        assert (ROOT / link).exists(), link
