"""`make gpu-check` fits its time, and needs no package that a GPU machine does not have."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import benchmarks.gpu
from benchmarks.gpu.__main__ import ROUNDS, SECONDS
from benchmarks.gpu.pack import on_machine, requirements
from service.documents.formats import MODULES

ROOT = Path(__file__).parents[1]
PARTS = [name for _, name, _ in pkgutil.iter_modules(benchmarks.gpu.__path__, "benchmarks.gpu.")]
SERVED = ["service.commands.serve", *MODULES]
TESTS = ["tests.conftest", "tests.model.backends.test_gpu"]
PEERS = ["benchmarks.peers.shapes", "benchmarks.peers.ctranslate2_service"]
UNNEEDED = ["model.importers.resolve._download", "benchmarks.peers.shapes._read"]
UNNEEDED += ["service.app._make_tracer", "service.commons.windows._connect"]
UNNEEDED += ["model.backends.pytorch.nvrtc._bindings"]
"""Functions that download, read a corpus, send traces, and count in Redis; one that imports what
only PyTorch's CUDA build brings."""
WITH_PEERS = ["benchmarks.gpu.peers._marian", "benchmarks.gpu.cores._prepared"]


def installed_with(wanted: Iterable[str]) -> set[str]:
    """The names of packages that these requirements bring, in this environment."""
    found, waiting = set[str](), [Requirement(one) for one in wanted]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += map(Requirement, requires(name) or ())
    return found


def fault_with_only(packages: set[str], modules: list[str], unneeded: list[str]) -> str:
    """Import modules where only these packages are installed -> what goes wrong. `unneeded`:
    functions that are not called."""
    owners = packages_distributions().items()
    ours = {*packages, "dragoman"}
    refused = [top for top, names in owners if not ours & set(map(canonicalize_name, names))]
    given = json.dumps({"modules": modules, "refused": refused, "unneeded": unneeded})
    command = [sys.executable, "-m", "tests.import_without", given]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stderr if ended.returncode else ""


def test_the_limits_of_the_rounds_are_those_of_the_whole() -> None:
    assert sum(one.limit_seconds for one in ROUNDS) == SECONDS == 310


def test_the_parts_need_only_what_is_packed_and_what_the_machine_has() -> None:
    """Without huggingface-hub, which is too old there."""
    packages = (installed_with(requirements()) | on_machine()) - {"huggingface-hub"}
    modules, unneeded = [*PARTS, *SERVED, *TESTS], [*UNNEEDED, *WITH_PEERS]
    assert fault_with_only(packages, modules, unneeded) == ""


def test_the_peers_need_besides_only_what_they_bring() -> None:
    packages = installed_with([*requirements(), "transformers", "ctranslate2"]) | on_machine()
    assert fault_with_only(packages, [*PEERS, "benchmarks.gpu.peers"], UNNEEDED) == ""
