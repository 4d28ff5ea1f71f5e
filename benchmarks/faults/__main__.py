"""Each fault alone on a server under load: what the server promises must hold afterwards.

Needs Linux, root, control groups of version 1, redis-server, and for the clock libfaketime.
Results go to build/faults.json; --record writes them into the docs.

    python -m benchmarks.faults --only sigterm,redis
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.faults.bench import References, Seen
from benchmarks.faults.catalogue import promises
from benchmarks.faults.promise import NotTried, Promise
from benchmarks.sentences import ROOT
from benchmarks.soak.cases import CaseMaker, load_sentences
from benchmarks.soak.documents import make_documents
from benchmarks.soak.references import with_references

_OUTPUT = ROOT / "build" / "faults.json"
_DOCS = ROOT / "docs" / "promises.json"
_FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
_MOST_SECONDS = 900.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of faults, separated by commas")
    parser.add_argument("--faketime", type=Path, default=Path(_FAKETIME), help="libfaketime")
    parser.add_argument("--cases", type=int, default=48)
    parser.add_argument("--record", action="store_true", help="write the results into the docs")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops the servers too
    faketime = arguments.faketime
    every = promises(str(faketime) if faketime.exists() else None)
    chosen = [one for one in every if one.name in (arguments.only or one.name).split(",")]
    paths = [_OUTPUT, *([_DOCS] if arguments.record else [])]
    _OUTPUT.parent.mkdir(exist_ok=True)
    commit = _commit()  # before the first result changes the tree
    num_held = 0
    for result in try_all(chosen, make_references(arguments.cases)):
        num_held += bool(result["holds"])
        for path in paths:
            _write(path, {**result, "commit": commit})
    sys.exit(num_held < len(chosen))


def make_references(count: int) -> References:
    sentences = load_sentences(ROOT / "no-data", 1)  # the test data alone: the same everywhere
    cases = CaseMaker(sentences, 1).make(count)
    return References(*with_references(cases, make_documents(sentences)))


def try_all(chosen: Sequence[Promise], references: References) -> Iterator[dict[str, object]]:
    """The result of each that could be tried, as soon as it is there."""
    for promise in chosen:
        started = time.monotonic()
        try:
            seen = run_one(promise, references)
        except NotTried as error:
            print(f"{promise.name}: not tried: {error}", flush=True)
            continue
        holds, shown = not seen.broken, "; ".join(seen.facts)
        verdict = "holds" if holds else "BROKEN"
        print(f"{promise.name}: {verdict} ({time.monotonic() - started:.0f} s)")
        print("   ", shown, flush=True)
        for broken in seen.broken:
            print("    BROKEN:", broken, flush=True)
        yield {
            "name": promise.name,
            "promise": promise.words,
            "fault": promise.fault,
            "tests": promise.tests,
            "holds": holds,
            "seen": shown if holds else "; ".join(seen.broken),
        }


def run_one(promise: Promise, references: References) -> Seen:
    """A failure of the script itself counts as broken. Raises NotTried."""
    with tempfile.TemporaryDirectory() as directory:
        running = promise.run(references, Path(directory))
        try:
            return asyncio.run(asyncio.wait_for(running, _MOST_SECONDS))
        except NotTried:
            raise
        except Exception as error:
            traceback.print_exc()
            return Seen(broken=[f"{type(error).__name__}: {error}"])


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def _write(path: Path, result: Mapping[str, object]) -> None:
    """Results of other faults that the file has stay in it."""
    written = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    written[result["name"]] = result
    text = json.dumps(written, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
