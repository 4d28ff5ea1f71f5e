"""Every command, given a file or a checkpoint that cannot be read: one line and exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from model.bundled import bundled_checkpoint
from service.commands.group import dragoman

ROOT = Path(__file__).parents[2]
ZH_EN = str(bundled_checkpoint("zh-en"))
RECIPE = str(ROOT / "recipes" / "zh-en.toml")
TRANSLATE = ["translate", "--from", "en", "--to", "zh", "--device", "cpu"]


def commands_with(path: str) -> dict[str, list[str]]:
    """Every command, given the path where it wants a file or a checkpoint."""
    return {
        "serve": ["serve", "--model", path],
        "serve config": ["serve", "--config", path],
        "serve secrets": ["serve", "--secrets-dir", path],
        "translate": [*TRANSLATE, path],
        "translate model": [*TRANSLATE, "--model", path],
        "train": ["train", path, "--run", "never-made"],
        "evaluate": ["evaluate", path, "--recipe", RECIPE],
        "evaluate recipe": ["evaluate", ZH_EN, "--recipe", path],
        "average": ["average", path, path, "never-made"],
        "import": ["import", path, "never-made"],
        "export": ["export", path, "never-made", "--format", "pegasus"],
    }


PLACES = list(commands_with(""))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def assert_one_line(arguments: list[str], *words: str) -> None:
    result = CliRunner().invoke(dragoman, arguments)
    assert result.exit_code == 2, result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("dragoman: ")
    assert all(word in result.stderr for word in words), result.stderr


@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_is_no_utf_8(place: str) -> None:
    assert_one_line(commands_with("caf\udce9")[place])


@pytest.mark.parametrize("place", PLACES)
def test_a_dangling_link(place: str) -> None:
    Path("dangling").symlink_to("nowhere")
    assert_one_line(commands_with("dangling")[place], "dangling")


@pytest.mark.parametrize("place", [p for p in PLACES if p != "translate"])
def test_a_fifo_is_refused_and_never_waited_for(place: str) -> None:
    os.mkfifo("fifo")
    assert_one_line(commands_with("fifo")[place], "fifo")
