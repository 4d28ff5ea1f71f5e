"""A few generated requests for every surface; `make fuzz` sends many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.cases import MODES, Mode, run_cases


@pytest.mark.parametrize(
    ("mode", "examples"),
    [
        (MODES["as described"], 8),
        (Mode(has_database=False, is_filtered=True), 8),
        (Mode({"suggestions": True}, phases="fuzzing"), 3),
    ],
    ids=["as described", "as described without a database", "every surface"],
)
def test_schemathesis_finds_nothing(tmp_path: Path, mode: Mode, examples: int) -> None:
    outcome = run_cases(tmp_path, mode, examples, seed=1)
    assert outcome.is_fine, outcome.report
