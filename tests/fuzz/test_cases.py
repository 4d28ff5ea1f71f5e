"""A few generated requests for every surface; `make fuzz` sends many."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.cases import MODES, Mode, run_cases
from tests.fuzz.links import LABELS
from tests.fuzz.surfaces import surface_of

SURFACES = {
    *("/translate", "/translate/next", "/translate_file", "/detect", "/suggest", "/glossaries"),
    *("/v2/translate", "/v2/document", "/v2/glossaries", "/v2/usage", "/language/translate/v2"),
    *("/v1/translate", "/immersive", "/health"),
}


def test_no_surface_fails_on_generated_requests(tmp_path: Path) -> None:
    mode = Mode({"suggestions": True}, phases="fuzzing,stateful")
    outcome = run_cases(tmp_path, mode, examples=3, seed=1)
    assert outcome.is_fine, outcome.report
    assert not outcome.failures
    assert {surface for surface, _ in outcome.counts} >= {surface_of(path) for path in SURFACES}


def test_without_suggestions_nothing_is_described_or_linked_that_needs_them(tmp_path: Path) -> None:
    outcome = run_cases(tmp_path, Mode(has_database=False, phases="fuzzing"), examples=1, seed=1)
    assert outcome.is_fine, outcome.report
    assert surface_of("/suggest") not in {surface for surface, _ in outcome.counts}


def test_every_link_between_requests_is_followed(tmp_path: Path) -> None:
    """What is made is read, replaced, used and removed. Links are followed by chance."""
    successes: set[str] = set()
    for seed in range(1, 8):
        scratch = tmp_path / str(seed)
        scratch.mkdir()
        outcome = run_cases(scratch, MODES["links"], examples=3, seed=seed)
        assert outcome.is_fine, outcome.report
        assert not outcome.failures
        successes |= {label for label, status in outcome.links if status < 300}
        if successes == set(LABELS):
            return
    raise AssertionError(set(LABELS) - successes)
