"""The records of one run, one JSON object a line, written as it goes."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

_MOST_PROBLEMS = 50
Record = Mapping[str, Any]


class RecordWriter:
    """Writes records with the seconds since its start."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._started = file, time.monotonic()
        self._num_problems: Counter[str] = Counter()

    def write_problem(self, problem: Record) -> None:
        """Only the first ones of each kind; the samples count all."""
        self._num_problems[problem["kind"]] += 1
        if self._num_problems[problem["kind"]] <= _MOST_PROBLEMS:
            self.write("problem", problem)

    def write(self, event: str, record: Record) -> None:
        seconds = round(time.monotonic() - self._started, 2)
        line = json.dumps({"event": event, "seconds": seconds, **record}, ensure_ascii=False)
        self._file.write(line + "\n")
        self._file.flush()


def read_records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
