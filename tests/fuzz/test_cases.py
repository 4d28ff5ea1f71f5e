"""Generated requests for every surface of a real server, checked by schemathesis.

DRAGOMAN_FUZZ_CASES is how many there are about, in all modes; without it few in some.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.fuzz.conftest import tiny_server
from tests.fuzz.surfaces import whole_document
from tests.service.served import Served

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("DRAGOMAN_FUZZ_SEED", "1"))
CASES = int(os.environ.get("DRAGOMAN_FUZZ_CASES", "0"))
_DATABASE = "server.db"
_CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503", "504"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429", "456"]
"""


@dataclass(frozen=True)
class Mode:
    """How the server is set up, and which cases it gets.

    `is_filtered`: only the routes of /openapi.json get requests, with no fields that contradict
    each other, and every check is on. Else every surface gets all requests, and which of them is
    refused is not checked.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    has_database: bool = True
    sends_key: bool = False
    is_filtered: bool = False
    phases: str = "examples,coverage,fuzzing"


MODES = {
    "as described": Mode({"suggestions": True}, is_filtered=True),
    "as described without database": Mode(has_database=False, is_filtered=True),
    "without database": Mode(has_database=False),
    "with database": Mode({"suggestions": True}),
    "keys": Mode({"suggestions": True, "api_keys": "required"}, sends_key=True),
    "limits": Mode(
        {
            "api_keys": "optional",
            "requests_per_minute": 6000,
            "characters_per_minute": 2_000_000,
            "concurrent_requests": 3,
            "deadline_seconds": 0.05,
            "max_waiting_sentences": 4,
            "cache_bytes": 0,
        }
    ),
}
FEW = {
    "as described": (MODES["as described"], 8),
    "with database": (Mode({"suggestions": True}, phases="fuzzing"), 3),
}
MANY = {name: (mode, max(1, CASES // len(MODES) // 40)) for name, mode in MODES.items()}
"""Modes, and examples for each of about 40 routes."""


@pytest.mark.parametrize("name", MANY if CASES else FEW)
def test_schemathesis_finds_nothing(tmp_path: Path, name: str) -> None:
    mode, examples = (MANY if CASES else FEW)[name]
    settings = dict(mode.settings)
    if mode.has_database:
        settings["database"] = tmp_path / _DATABASE
    with tiny_server(tmp_path, **settings) as server:
        done = _run_schemathesis(server, tmp_path, mode, examples)
        assert done.returncode == 0, done.stdout + done.stderr
        assert httpx.get(f"{server.url}/health/ready").status_code == 200
        assert not server.count('dragoman_requests_total{endpoint="other",outcome="error"')


def _run_schemathesis(
    server: Served, scratch: Path, mode: Mode, examples: int
) -> subprocess.CompletedProcess[str]:
    served = httpx.get(f"{server.url}/openapi.json").json()
    document = scratch / "whole.json"
    described = whole_document(served, has_keys=mode.sends_key, is_native=mode.is_filtered)
    document.write_text(json.dumps(described), encoding="utf-8")
    (scratch / "schemathesis.toml").write_text(_CONFIG, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.case_hooks",
        **({"DRAGOMAN_FUZZ_FILTER": "1"} if mode.is_filtered else {}),
    }
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(document)]
    command += ["--url", server.url, "--seed", str(SEED), "--max-examples", str(examples)]
    command += ["--phases", mode.phases, "--checks", "all", "--continue-on-failure"]
    command += ["--no-color", "--warnings", "off"]
    excluded: list[str] = []
    if not mode.is_filtered:  # a document of DeepL's API can be fetched once
        excluded += ["positive_data_acceptance", "negative_data_rejection"]
        excluded += ["ensure_resource_availability"]
    if mode.sends_key:  # a query without the header may have a wrong key
        excluded += ["missing_required_header"]
    if excluded:
        command += ["--exclude-checks", ",".join(excluded)]
    command += ["--suppress-health-check", "all", "--generation-database", "none"]
    if mode.sends_key:
        command += ["--header", f"Authorization:Bearer {_make_key(scratch)}"]
    return subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True)


def _make_key(scratch: Path) -> str:
    with closing(KeyStore(scratch / _DATABASE)) as store:
        return store.create(KeyOptions())[0]
