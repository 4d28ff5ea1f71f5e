"""deploy/ray/bulk.py on a local Ray of two workers, of which one is killed: `make ray-test`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
FILES, ROWS = 4, 150
_ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT}:{ROOT / 'deploy' / 'ray'}",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def test_a_worker_that_is_killed_costs_no_row(tmp_path: Path) -> None:
    given, output, mark = (tmp_path / name for name in ("given", "output", "mark"))
    given.mkdir()
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        texts = [None if number % 50 == 7 else f"I have {number} apples." for number in numbers]
        pq.write_table(pa.table({"id": numbers, "text": texts}), given / f"{file}.parquet")
    command = [sys.executable, str(Path(__file__).with_name("dying_worker.py")), str(mark)]
    command += ["--from", "en", "--to", "de", "--workers", "2", "--batch-rows", "50"]
    done = subprocess.run(
        [*command, str(given), str(output)], capture_output=True, text=True, env=_ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert mark.exists()
    rows = pq.read_table(output).to_pylist()
    assert [row["id"] for row in rows] == [*range(FILES * ROWS)]
    for row in rows:
        assert row["translation_error"] is None
        assert (row["translation"] is None) == (row["text"] is None)
        assert row["text"] is None or str(row["id"]) in row["translation"]
