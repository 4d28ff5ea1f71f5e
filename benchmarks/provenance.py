"""What a figure is of: the weights, the commit, the Python, and how busy the machine was."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from benchmarks.sentences import ROOT

_VERSION = re.compile(r"^\| Version \| (\d+)", re.MULTILINE)


def commit() -> str:
    """The commit of the working tree, or "unknown" where there is no git."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def weights(checkpoint: Path) -> str:
    """The name of a checkpoint and the version that its model card tells."""
    card = checkpoint / "MODEL_CARD.md"
    found = _VERSION.search(card.read_text(encoding="utf-8")) if card.exists() else None
    return f"{checkpoint.name} version {found[1]}" if found else checkpoint.name


def provenance(of: str) -> str:
    """`of`: the weights."""
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    made_with = f"commit {commit()}, Python {platform.python_version()}"
    return f"{of}; {made_with}; {os.cpu_count()} cores, load averages {loads}"
