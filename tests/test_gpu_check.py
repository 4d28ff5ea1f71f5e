"""The script of `make gpu-check`, which is written for a machine that is not here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return ended.stdout


def figures(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_without_a_gpu_each_part_says_that_it_did_not_run(tmp_path: Path) -> None:
    lines = run("--out", str(tmp_path / "figures.jsonl")).splitlines()
    assert len(lines) == 12
    assert all(line.endswith(": no GPU here, not run") for line in lines)


def test_parts_write_their_figures_and_tell_of_their_failures(tmp_path: Path) -> None:
    out = tmp_path / "figures.jsonl"
    run("--device", "cpu", "--parts", "poisoned", "recording", "lost-device", "--out", str(out))
    poisoned, recording, lost = figures(out)
    assert poisoned["failed"] == "the model gave no finite scores for this sentence"
    assert poisoned["later_sentences_are_right"] == [True] * 4
    assert recording["recorded"] == recording["refused"] == 0
    assert "only a GPU can be lost" in lost["left_out"]


def test_a_part_that_is_cut_off_is_told(tmp_path: Path) -> None:
    out = tmp_path / "figures.jsonl"
    run("--device", "cpu", "--parts", "soak", "crowd", "--seconds", "1.2", "--out", str(out))
    assert [next(iter(set(f) & {"failed", "left_out"})) for f in figures(out)] == [
        "failed",
        "left_out",
    ]
