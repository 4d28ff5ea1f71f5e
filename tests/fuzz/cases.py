"""Generated requests for every surface of a real server, checked by schemathesis.

python -m tests.fuzz.cases --cases 20000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.fuzz.surfaces import whole_document
from tests.fuzz.tiny_server import tiny_server
from tests.service.served import Served

ROOT = Path(__file__).parents[2]
CASES_OF_AN_EXAMPLE = 40
"""About as many routes there are."""
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


class Outcome(NamedTuple):
    """Whether nothing was found, and what schemathesis wrote."""

    is_fine: bool
    report: str


def run_cases(scratch: Path, mode: Mode, examples: int, seed: int) -> Outcome:
    """Start a server in an empty directory, and send it about `examples` cases for each route."""
    settings = dict(mode.settings)
    if mode.has_database:
        settings["database"] = scratch / _DATABASE
    with tiny_server(scratch, **settings) as server:
        outcome = _generate(server, scratch, mode, examples, seed)
        assert httpx.get(f"{server.url}/health/ready").status_code == 200
        has_failed = server.count('dragoman_requests_total{endpoint="other",outcome="error"')
        return outcome._replace(is_fine=outcome.is_fine and not has_failed)


def _generate(server: Served, scratch: Path, mode: Mode, examples: int, seed: int) -> Outcome:
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
    command += ["--url", server.url, "--seed", str(seed), "--max-examples", str(examples)]
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
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True)
    return Outcome(done.returncode == 0, done.stdout + done.stderr)


def _make_key(scratch: Path) -> str:
    with closing(KeyStore(scratch / _DATABASE)) as store:
        return store.create(KeyOptions())[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="in all modes, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", default=",".join(MODES))
    options = parser.parse_args(arguments)
    modes = options.modes.split(",")
    is_fine, examples = True, max(1, options.cases // len(modes) // CASES_OF_AN_EXAMPLE)
    for name in modes:
        with tempfile.TemporaryDirectory() as scratch:
            outcome = run_cases(Path(scratch), MODES[name], examples, options.seed)
        print(f"-- {name}\n{outcome.report}\n", flush=True)
        is_fine = is_fine and outcome.is_fine
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
