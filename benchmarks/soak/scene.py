"""What every visit of the soak has at hand, and how its end is called."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.soak.cases import Case
from benchmarks.soak.documents import Document
from benchmarks.soak.sockets import Sockets
from benchmarks.soak.wire import Answer, Pool, Writer

_SHOWN_CHARACTERS = 300


class Result(StrEnum):
    """How a visit ended. RIGHT: answered as expected, also where a refusal of bad input was.
    REFUSED: 503 of a full server. LIMITED: 429. LEFT: the client left, as it meant to.
    WRONG, LOST (no answer) and UNEXPECTED (another status) must not happen."""

    RIGHT = "right"
    REFUSED = "refused"
    LIMITED = "limited"
    LEFT = "left"
    WRONG = "wrong"
    LOST = "lost"
    UNEXPECTED = "unexpected"


FAILURES = (Result.WRONG, Result.LOST, Result.UNEXPECTED)
Problem = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Writers:
    """Clients by key: without limits, one whose answers are counted, and one with a low limit."""

    plain: Writer
    counted: Writer
    limited: Writer


@dataclass(frozen=True)
class Scene:
    """The server's address and clients, the pool of cases, and where problems are written."""

    writers: Writers
    pool: Pool
    sockets: Sockets
    cases: Mapping[str, Sequence[Case]]
    documents: Sequence[Document]
    rng: random.Random
    on_problem: Problem

    def case(self, *kinds: str) -> Case:
        return self.rng.choice(self.cases[self.rng.choice(kinds)])

    def compare(self, kind: str, fields: object, got: object, expected: object) -> Result:
        """WRONG is written down with what was expected."""
        if got == expected:
            return Result.RIGHT
        self.on_problem(
            {"kind": kind, "fields": _shown(fields), "got": _shown(got), "want": _shown(expected)}
        )
        return Result.WRONG

    def judge(self, kind: str, answer: Answer) -> Result | None:
        """None if the status is 200. Anything but 200, 503 and 429 is written down."""
        if answer.status == 200:
            return None
        if answer.status == 503:
            return Result.REFUSED
        if answer.status == 429:
            return Result.LIMITED
        self.on_problem({"kind": kind, "status": answer.status, "got": _shown(answer.body)})
        return Result.UNEXPECTED


Visit = Callable[[Scene], Awaitable[Result]]


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN_CHARACTERS]
