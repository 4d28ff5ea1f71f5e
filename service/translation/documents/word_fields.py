"""Complex fields of Word: their code and their result stand in runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

_BEGIN, _SEPARATE, _END = (f'w:fldCharType="{kind}"' for kind in ("begin", "separate", "end"))


class Field(NamedTuple):
    """A field's last run, and the run before its result; None without one. A field that goes on in
    another paragraph has only its first run, and keeps its place."""

    end: int
    separator: int | None = None
    kind: Literal["single", "stop"] = "single"


def find_fields(runs: Sequence[str]) -> Mapping[int, Field]:
    """The fields of runs as written, by the index of the run where they begin. Those within
    another field's result are among them. Linear time."""
    fields: dict[int, Field] = {}
    opened: list[tuple[int, int | None]] = []
    for index, run in enumerate(runs):
        if "<w:fldChar" not in run or not run.startswith("<w:r"):
            continue
        if _BEGIN in run:
            opened.append((index, None))
        elif _SEPARATE in run and opened:
            opened[-1] = (opened[-1][0], index)
        elif _END in run and opened:
            begin, separator = opened.pop()
            fields[begin] = Field(index, separator)
        else:
            fields[index] = Field(index, kind="stop")
    for begin, separator in opened:
        fields[begin] = Field(begin, kind="stop")
        if separator is not None:
            fields[separator] = Field(separator, kind="stop")
    return fields
