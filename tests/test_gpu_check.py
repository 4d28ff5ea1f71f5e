"""The script of `make gpu-check`, which is written for a machine that is not here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement

from benchmarks.gpu.__main__ import PARTS
from benchmarks.gpu.soundness import _different

ROOT = Path(__file__).parents[1]
PYTHON = {"python_version": "3.12", "python_full_version": "3.12.3", "extra": ""}
"""Of the machine that has a GPU and no network."""


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return ended.stdout


def figures(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_without_a_gpu_each_part_says_that_it_did_not_run(tmp_path: Path) -> None:
    lines = run("--out", str(tmp_path / "figures.jsonl")).splitlines()
    assert len(lines) == len(PARTS)
    assert all(line.endswith(": no GPU here, not run") for line in lines)


def test_parts_write_their_figures_and_tell_of_their_failures(tmp_path: Path) -> None:
    out = tmp_path / "figures.jsonl"
    run("--device", "cpu", "--parts", "poisoned", "recording", "lost-device", "--out", str(out))
    poisoned, recording, lost = figures(out)
    assert poisoned["failed"] == "the model gave no finite scores for this sentence"
    assert poisoned["later_sentences_are_right"] == [True] * 4
    assert recording["recorded"] == recording["refused"] == 0
    assert "only a GPU can be lost" in lost["left_out"]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_runs_from_end_to_end_without_a_gpu(part: str, tmp_path: Path) -> None:
    """Small, and with as much time as a busy machine needs; so nothing is found broken the day
    that a GPU is lent."""
    out = tmp_path / "figures.jsonl"
    arguments = ("--device", "cpu", "--parts", part, "--patience", "20", "--seconds", "280")
    run(*arguments, "--out", str(out))
    found = figures(out)
    assert found
    assert not [figure for figure in found if "failed" in figure and part != "poisoned"]
    for figure in found:
        CHECKS.get(figure["part"], lambda _: None)(figure)


def check_kinds(figure: dict[str, Any]) -> None:
    assert not any(figure.get("otherwise", ()))
    assert not figure.get("wrong_streams")


def check_encoder(figure: dict[str, Any]) -> None:
    assert figure.get("recorded", 0) == 0
    assert figure.get("most_difference", 0) < 1e-5


def check_service(figure: dict[str, Any]) -> None:
    assert set(figure["answers"]) == {"200"}


def check_service_kinds(figure: dict[str, Any]) -> None:
    answers = {name: value for name, value in figure.items() if name not in ("part", "at")}
    assert answers.pop("plain") == "Where is the library?"
    assert answers.pop("first event ms") > 0
    assert set(answers.values()) == {True, 200}


CHECKS = {
    "kinds": check_kinds,
    "encoder": check_encoder,
    "service": check_service,
    "service kinds": check_service_kinds,
    "tests": lambda figure: check_equal(figure["exit_status"], 0),
    "two models": lambda figure: check_equal(figure["faults"], []),
    "crowd": lambda figure: check_equal(figure["otherwise_in_a_crowd"], 0),
}


def check_equal(found: object, expected: object) -> None:
    assert found == expected


def test_what_differs_in_a_crowd_is_counted_and_not_hidden() -> None:
    """On a GPU rounding depends on the rows: it is measured, not promised."""
    alone = [(5, 6), (7,), ()]
    assert _different([(5, 6), (7,), ()], alone) == 0
    assert _different([(5, 9), (7,), (8,)], alone) == 2
    with pytest.raises(ValueError, match="zip"):
        _different(alone[:2], alone)


def test_all_parts_have_their_time_within_ten_minutes() -> None:
    assert sum(part.limit_seconds for part in PARTS.values()) <= 590


def needed_by(names: set[str], known: set[str]) -> set[str]:
    """The packages that these need on that machine, themselves included, without `known` ones."""
    todo, found = list(names), set[str]()
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in found | known:
            continue
        found.add(name)
        for line in requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(PYTHON):
                todo.append(requirement.name)
    return found


def test_the_wheels_are_all_that_the_server_and_the_tests_need_besides_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {Requirement(line).name for line in project["dependencies"]} - {"torch"}
    wheels = set((ROOT / "benchmarks" / "gpu" / "wheels.txt").read_text().split())
    with_torch = needed_by({"torch"}, set()) - {"typing-extensions"}
    assert needed_by(own | {"pytest"}, with_torch) == wheels


def test_a_part_that_is_cut_off_is_told(tmp_path: Path) -> None:
    out = tmp_path / "figures.jsonl"
    run("--device", "cpu", "--parts", "soak", "crowd", "--seconds", "1.2", "--out", str(out))
    assert [next(iter(set(f) & {"failed", "left_out"})) for f in figures(out)] == [
        "failed",
        "left_out",
    ]
