"""Every kernel compiles for the GPUs that we name, on a machine without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNELS = {
    "embed",
    "attend",
    "add_and_normalise",
    "rank_parts",
    "merge_parts",
    "advance",
    "follow",
    "settle",
}


def test_every_kernel_compiles_for_sm_80_and_sm_90(tmp_path: Path) -> None:
    environment = {name: os.environ[name] for name in os.environ if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.model.backends.fused.compile_ahead"],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    compiled = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    assert compiled == {(name, gpu) for name in KERNELS for gpu in ("sm_80", "sm_90")}
