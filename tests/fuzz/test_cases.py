"""A few generated requests for every surface; `make fuzz` sends many."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.cases import Mode, run_cases


def test_no_surface_fails_on_generated_requests(tmp_path: Path) -> None:
    mode = Mode({"suggestions": True}, phases="fuzzing")
    outcome = run_cases(tmp_path, mode, examples=3, seed=1)
    assert outcome.is_fine, outcome.report
