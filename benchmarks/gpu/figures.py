"""Figures that are written to a file as they come, so that a run that is cut off leaves its own."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

OUT_VARIABLE = "DRAGOMAN_GPU_FIGURES"


def note(part: str, **values: object) -> None:
    """Print a figure and append it, a line of JSON, to the file of the run."""
    line = json.dumps({"part": part, "at": round(time.time(), 1), **values}, ensure_ascii=False)
    print(line, flush=True)
    if path := os.environ.get(OUT_VARIABLE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
