"""The image installs without dependencies: its list must have every package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names(lines: list[str]) -> set[str]:
    """The normalised names of the packages in requirements."""
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in found if name}


def test_the_image_gets_every_package_that_the_server_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = names([*project["dependencies"], *extras["otel"], *extras["redis"]]) - {"torch"}
    locked = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert needed <= names([line for line in locked if "==" in line])
