"""`make gpu-bench` on a machine where peers do not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import engines
from benchmarks.engines import EngineEnded, Worker, start

ROOT = Path(__file__).parents[1]


def test_an_engine_whose_process_ends_is_told_of(tmp_path: Path) -> None:
    """A real process: nothing is prepared in the directory."""
    with pytest.raises(EngineEnded):
        Worker("ctranslate2:float16", tmp_path, 1, "cuda")


def test_engines_that_do_not_run_are_left_out_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stand:
        """CTranslate2 does not find libcublas.so.12 beside CUDA 13."""

        def __init__(self, engine: str, *_: object) -> None:
            if engine.startswith("ctranslate2"):
                raise EngineEnded("its process ended; its message stands above")

    monkeypatch.setattr(engines, "Worker", Stand)
    wanted = ["ctranslate2:float16", "dragoman:float16"]
    assert list(start(wanted, ROOT, 1, "cuda")) == ["dragoman:float16"]
    assert "ctranslate2:float16: left out" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="none of ctranslate2:float16 runs here"):
        start(wanted[:1], ROOT, 1, "cuda")


def test_on_a_gpu_our_own_figures_come_before_those_of_peers() -> None:
    """Make stops at the first line that fails, unless it begins with a dash."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\ngpu-bench:")[2].partition("\n\n")[0].splitlines()[1:]
    with_peers = [
        line for line in recipe if "benchmarks.engines" in line and "--engines" not in line
    ]
    assert with_peers == recipe[-len(with_peers) :]
    assert all(line.startswith("\t-") for line in with_peers)
    assert len(recipe) > len(with_peers)
