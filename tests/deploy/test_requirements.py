"""The image installs without dependencies: its list must have every package."""

from __future__ import annotations

import re
import subprocess
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


def test_audit_sbom_and_licences_are_of_every_package_of_the_image(tmp_path: Path) -> None:
    """PyTorch, which the Dockerfile installs by itself, is among them."""
    listed = tmp_path / "packages.txt"
    command = ["make", "--silent", f"IMAGE_PACKAGES={listed}", str(listed)]
    subprocess.run(command, cwd=ROOT, check=True)
    locked = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    lines = listed.read_text(encoding="utf-8").splitlines()
    assert lines[:-1] == locked
    assert re.fullmatch(r"torch==\d+\.\d+\.\d+", lines[-1])
    for target in ("audit", "sbom", "licences"):
        done = subprocess.run(
            ["make", "--dry-run", f"IMAGE_PACKAGES={listed}", target],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        assert str(listed) in done.stdout
