"""Runs over small corpora with translators that need no model, and are killed."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from service.commands.corpora import CorpusOptions, opened_corpus
from service.corpora.compression import compression_of, frame
from service.corpora.progress import CorpusProgress
from service.corpora.run import translate_corpus
from service.corpora.translations import Translation

FILES = [
    ("text", ".txt"),
    ("jsonl", ".jsonl.gz"),
    ("tsv", ".tsv.zst"),
    ("parquet", ".parquet"),
]
"""Formats, and the endings of their files."""
KILLS = 20
_TEXTS, _BATCH = 1500, 3
_BATCH_SECONDS = 0.001
_MOST_SECONDS = 0.02


class UpperCase:
    """Translates into capitals; a text with "bad" fails. Waits a while for each list."""

    num_texts = 4

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def submit(self, texts: Sequence[str], source: str | None = None) -> Future[list[Translation]]:
        time.sleep(self._seconds)
        done: Future[list[Translation]] = Future()
        done.set_result(
            [
                Translation(None, "it is bad")
                if "bad" in text
                else Translation(text.upper(), "", -len(text) / 8, ["number"] * ("7" in text))
                for text in texts
            ]
        )
        return done


def options(corpus_format: str, **changed: Any) -> CorpusOptions:
    """Those of the command, by default."""
    return dataclasses.replace(CorpusOptions(corpus_format, part_rows=5), **changed)


def run(source: Path, output: Path, chosen: CorpusOptions, seconds: float = 0.0) -> int:
    """Translate a corpus -> how many records failed."""
    with opened_corpus(source, output, chosen) as corpus:
        corpus.batch_records = _BATCH
        return translate_corpus(corpus, UpperCase(seconds), CorpusProgress(io.StringIO()))


def content(output: Path) -> dict[str, bytes]:
    """All bytes of an output, which may be a directory."""
    if output.is_file():
        return {"": output.read_bytes()}
    return {path.name: path.read_bytes() for path in sorted(output.glob("part-*"))}


def texts(count: int) -> list[str]:
    """Texts of several lengths, of which some are empty or fail."""
    rng = random.Random(count)
    kinds = ("", "bad", "Zürich 7", "你好。", "a b c " * 9)
    return [f"{kind} {number}" if (kind := rng.choice(kinds)) else "" for number in range(count)]


def write_corpus(path: Path, corpus_format: str, written: Sequence[str]) -> None:
    """Write texts, of which some records have none."""
    if corpus_format == "parquet":
        rows = {"id": range(len(written)), "text": [text or None for text in written]}
        pq.write_table(pa.table(rows), path, row_group_size=17)
        return
    records = {
        "text": lambda _, text: text,
        "jsonl": lambda number, text: json.dumps({"id": number, "text": text}) if text else "[",
        "tsv": lambda number, text: f"{number}\t{text}" if text else "",
    }[corpus_format]
    header = ["id\ttext"] * (corpus_format == "tsv")
    found = [*header, *(records(number, text) for number, text in enumerate(written))]
    path.write_bytes(frame(compression_of(path), "".join(f"{one}\n" for one in found).encode()))


def _killed(work: Callable[[], object], rng: random.Random) -> bool:
    """Do the work in a process that is killed at any moment -> whether it was."""
    if not (pid := os.fork()):
        with contextlib.suppress(BaseException):
            work()
            os._exit(0)
        os._exit(1)
    time.sleep(rng.uniform(0, _MOST_SECONDS))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def kill_often(source: Path, output: Path, chosen: CorpusOptions) -> int:
    """Go on with a corpus until it is whole, through kills -> their number."""
    rng, num_kills = random.Random(1), 0
    while num_kills < KILLS and _killed(lambda: run(source, output, chosen, _BATCH_SECONDS), rng):
        num_kills += 1
    run(source, output, chosen)
    return num_kills


def main() -> None:
    """Print how often each run was killed, and whether it wrote what an undisturbed one writes."""
    for corpus_format, ending in FILES:
        with tempfile.TemporaryDirectory() as directory:
            source, whole, killed = (
                Path(directory) / f"{name}{ending}" for name in ("source", "whole", "killed")
            )
            write_corpus(source, corpus_format, texts(_TEXTS))
            num_kills = kill_often(source, killed, options(corpus_format, resume=True))
            run(source, whole, options(corpus_format))
            sys.stdout.write(f"{num_kills} {content(whole) == content(killed)}\n")


if __name__ == "__main__":
    main()
