"""deploy/ray/bulk.py on a local Ray of two workers, of which one is killed: `make ray-test`."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
BULK = str(ROOT / "deploy" / "ray" / "bulk.py")
FILES, ROWS = 4, 150
_ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT}:{ROOT / 'deploy' / 'ray'}",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def _run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, script, *map(str, arguments), "--from", "en", "--to", "de"]
    return subprocess.run(command, capture_output=True, text=True, env=_ENVIRONMENT)


def test_a_worker_that_is_killed_costs_no_row(tmp_path: Path) -> None:
    given, output, mark = (tmp_path / name for name in ("given", "output", "mark"))
    given.mkdir()
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        texts = [None if number % 50 == 7 else f"I have {number} apples." for number in numbers]
        pq.write_table(pa.table({"id": numbers, "text": texts}), given / f"{file}.parquet")
    script = [str(Path(__file__).with_name("dying_worker.py")), str(mark)]
    done = _run(*script, "--workers", "2", "--batch-rows", "50", given, output)
    assert done.returncode == 0, done.stderr
    assert mark.exists()
    rows = pq.read_table(output).to_pylist()
    assert [row["id"] for row in rows] == [*range(FILES * ROWS)]
    for row in rows:
        assert row["translation_error"] is None
        assert (row["translation"] is None) == (row["text"] is None)
        assert row["text"] is None or str(row["id"]) in row["translation"]


def test_an_object_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """Ray's own reader of JSON makes numbers of dates, and fields of one object those of all."""
    kept = ['{"text": "Hello!", "day": "2020-01-01"', '{"text" : "Tea\u2028", "n": 1.10', '{"n": 1']
    given, output = tmp_path / "given.jsonl.gz", tmp_path / "output"
    given.write_bytes(gzip.compress("".join(f"{one}}}\r\n\n" for one in kept).encode()))
    done = _run(BULK, "--format", "jsonl", given, output)
    assert done.returncode == 0, done.stderr
    content = b"".join(file.read_bytes() for file in sorted(output.iterdir()))
    written = content.decode().removesuffix("\n").split("\n")
    assert all(line.startswith(one) for line, one in zip(written, kept, strict=True))
    first, second, failed = map(json.loads, written)
    assert first["translation"] == "Hallo!"
    assert second["translation"]
    assert "no text in the field 'text'" in failed["translation_error"]


def test_columns_that_cannot_be_are_refused_at_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["Tea"]}), tmp_path / "given.parquet")
    for arguments, reason in (
        (["--column", "body"], "has no column 'body'; it has text"),
        (["--into", "text"], "the corpus has 'text' already"),
    ):
        done = _run(BULK, *arguments, tmp_path / "given.parquet", tmp_path / "output")
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
