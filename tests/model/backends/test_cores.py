"""How many cores a process computes with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from model.backends.control_groups import cpu_quotas
from model.backends.cores import num_cores
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import EOS, tiny_model, tiny_runner


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert num_cores() == 5


@pytest.mark.parametrize("value", ["", "0", "many"])
def test_else_there_are_as_many_as_the_process_may_run_on(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert 1 <= num_cores() <= len(os.sched_getaffinity(0))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_container_bounds_the_share_of_the_cpus(tmp_path: Path) -> None:
    group = tmp_path / "mounted" / "pod"
    group.mkdir(parents=True)
    (tmp_path / "mountinfo").write_text(
        f"24 23 0:1 / {tmp_path / 'mounted'} rw - cgroup2 cgroup rw"
    )
    (tmp_path / "cgroup").write_text("0::/pod")
    assert cpu_quotas(tmp_path) == []
    (group / "cpu.max").write_text("max 100000\n")
    (group.parent / "cpu.max").write_text("150000 100000\n")
    assert cpu_quotas(tmp_path) == [1.5]


def test_a_step_reads_no_file() -> None:
    """As a step is taken thousands of times a second, also by runners that share the cores anew."""
    runner = tiny_runner(tiny_model(), backend="native")
    opened: list[object] = []
    is_watched = False

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if is_watched and event == "open":
            opened.append(arguments[0])

    sys.addaudithook(note)
    runner.admit([SourceSentence([5, 6, EOS], DecodingOptions(beam_size=2, max_length=8))])
    is_watched = True
    for sharers in (1, 2, 1, 2):
        runner.share_cores(sharers)
        runner.step()
    is_watched = False
    assert opened == []
