"""An hour of mixed traffic, cancellations and bad input: what leaks, slows down or goes wrong?

Both bundled models with keys and a database; every API; 80 % of the rate that a first minute
measured, ten times that for half a minute in the middle. Every translation is compared with the
offline run's. Records go to build/soak.jsonl as it runs; the summary and the picture are made of
them, also afterwards:

    python -m benchmarks.soak --minutes 60
    python -m benchmarks.soak --only-summary build/soak.jsonl --picture docs/images/soak.png
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks.process import server_process
from benchmarks.sentences import ROOT
from benchmarks.soak.cases import CaseMaker, load_sentences
from benchmarks.soak.documents import make_documents
from benchmarks.soak.keys import Keys, counted_usage
from benchmarks.soak.picture import draw
from benchmarks.soak.records import RecordWriter, read_records
from benchmarks.soak.references import with_references
from benchmarks.soak.run import Plan, Soak
from benchmarks.soak.scene import Result
from benchmarks.soak.summary import Summary

_CACHE_BYTES = 4 * 2**20
"""Smaller than the pool of texts needs, so that sentences are found, computed and dropped."""
_SERVER = ["--api-keys", "required", "--suggestions", "true", "--cache-bytes", str(_CACHE_BYTES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="length of the load")
    parser.add_argument("--calibration-seconds", type=float, default=60.0)
    parser.add_argument("--spike-seconds", type=float, default=30.0)
    parser.add_argument("--cases", type=int, default=1500, help="short texts in the pool")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="for more sentences")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "soak.jsonl")
    parser.add_argument("--picture", type=Path, default=ROOT / "build" / "soak.png")
    parser.add_argument("--only-summary", type=Path, help="records of an earlier run")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops the server too
    path = arguments.only_summary or soak(arguments)
    summary = Summary(read_records(path))
    print(summary)
    draw(summary, arguments.picture)
    sys.exit(not summary.holds)


def soak(arguments: argparse.Namespace) -> Path:
    """-> the file of the records."""
    output: Path = arguments.output
    output.parent.mkdir(parents=True, exist_ok=True)
    sentences = load_sentences(arguments.data, arguments.seed)
    cases = CaseMaker(sentences, arguments.seed).make(arguments.cases)
    cases, documents = with_references(cases, make_documents(sentences))
    print(f"{sum(map(len, cases.values()))} requests and {len(documents)} files have a reference")
    plan = Plan(arguments.calibration_seconds, 60 * arguments.minutes, arguments.spike_seconds)
    with tempfile.TemporaryDirectory() as directory, output.open("w", encoding="utf-8") as file:
        database = Path(directory) / "server.db"
        keys, records = Keys.make(database), RecordWriter(file)
        records.write("begin", {"minutes": arguments.minutes, "commit": _commit()})
        log = output.with_suffix(".log")
        with server_process(log, [*_SERVER, "--database", str(database)]) as server:
            server.wait_until_ready()
            tally = uvloop.run(Soak(server, keys, cases, documents, records, 2).run(plan))
            end = {"exit_code": server.stop(), "log_errors": len(server.errors())}
        counted = tally.counts[f"counted: {Result.RIGHT}"]
        stored = counted_usage(database, keys.counted)
        records.write("end", {**end, "counted": counted, "stored": stored})
    return output


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()


if __name__ == "__main__":
    main()
