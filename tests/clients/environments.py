"""Virtual environments for clients whose requirements contradict ours, kept in build/clients."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE, BUILD = Path(__file__).parent, Path(__file__).parents[2] / "build" / "clients"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary")
_REQUIREMENTS = """
import importlib.metadata, sys
left_out = set(sys.argv[2:])
for line in importlib.metadata.requires(sys.argv[1]):
    name = line.split("[")[0].split("<")[0].split(">")[0].split("=")[0].split(";")[0].strip()
    if "extra ==" not in line and name.lower() not in left_out:
        print(line)
"""


def environment(package: str, left_out: frozenset[str] = frozenset()) -> Path:
    """The Python of an environment with `package`, written as name==version, made once.

    `left_out`: its requirements that are not installed, in small letters.
    """
    directory = BUILD / package
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        run(sys.executable, "-m", "venv", "--clear", directory)
        run(python, *_PIP, "--no-deps", package)
        name = package.partition("==")[0]
        needed = run(python, "-c", _REQUIREMENTS, name, *left_out).stdout.splitlines()
        run(python, *_PIP, *needed)
        (directory / "complete").touch()
    return python


def answers_of(program: Path, script: str, url: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this directory against the server at `url` -> the JSON that it writes."""
    found: dict[str, Any] = json.loads(run(program, HERE / script, url, *arguments).stdout)
    return found


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, which is a good one."""
    finished = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=500)
    assert finished.returncode == 0, (finished.stdout + finished.stderr)[-3000:]
    return finished
