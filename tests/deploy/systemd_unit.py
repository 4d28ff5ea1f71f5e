"""deploy/dragoman.service as systemd reads it, by `make proxy-test`, because it needs systemd."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from service.settings import Settings

UNIT = Path(__file__).parents[2] / "deploy" / "dragoman.service"
INSTALLED = "/opt/dragoman/bin/dragoman"


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("dragoman")
    text = UNIT.read_text(encoding="utf-8")
    own = tmp_path / UNIT.name
    own.write_text(text.replace(f"ExecStart={INSTALLED}", f"ExecStart={program}"))
    found = subprocess.run(["systemd-analyze", "verify", own], capture_output=True, text=True)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


def test_the_unit_waits_longer_than_the_server_drains() -> None:
    found = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    assert int(found[1]) > Settings().drain_seconds
