"""A few generated requests for every surface; `make fuzz` sends many."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.cases import Mode, run_cases
from tests.fuzz.surfaces import surface_of

SURFACES = {
    *("/translate", "/translate/next", "/translate_file", "/detect", "/suggest", "/glossaries"),
    *("/v2/translate", "/v2/document", "/v2/glossaries", "/v2/usage", "/language/translate/v2"),
    *("/v1/translate", "/immersive", "/health"),
}


def test_no_surface_fails_on_generated_requests(tmp_path: Path) -> None:
    mode = Mode({"suggestions": True}, phases="fuzzing")
    outcome = run_cases(tmp_path, mode, examples=3, seed=1)
    assert outcome.is_fine, outcome.report
    assert not outcome.failures
    assert {surface for surface, _ in outcome.counts} >= {surface_of(path) for path in SURFACES}
