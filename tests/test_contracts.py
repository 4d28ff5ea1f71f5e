"""The import contracts of pyproject.toml leave no module out."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_held_to_an_exhaustive_contract() -> None:
    """import-linter itself then refuses a module that stands in no layer of its package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    exhaustive = [c for c in contracts if c["type"] == "layers" and c.get("exhaustive")]
    containers = {container for contract in exhaustive for container in contract["containers"]}
    packages = {
        ".".join(file.parent.relative_to(ROOT).parts)
        for name in ("model", "service")
        for file in (ROOT / name).rglob("__init__.py")
    }
    assert containers == packages
