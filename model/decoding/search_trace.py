"""The record of one sentence's beam search: plain Python, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Fate(StrEnum):
    """What becomes of a candidate. An ended one needs no further step."""

    KEPT = "kept"
    ENDED = "ended"
    DROPPED = "dropped"


class TracedCandidate(NamedTuple):
    """An extension of a live hypothesis by one token.

    `parent`: the place of that hypothesis among the live ones; `log_prob`: of the token; `total`:
    the sum over the hypothesis; `place`: its own place in the next step if it is kept.
    """

    parent: int
    token: int
    log_prob: float
    total: float
    fate: Fate
    place: int | None = None


@dataclass(frozen=True)
class TracedStep:
    """One step: its best candidates, best first, as many as twice the beam; and the likeliest
    tokens that may come next in every live hypothesis, before options change them, as (token,
    probability)."""

    candidates: Sequence[TracedCandidate]
    likeliest: Sequence[Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class SearchTrace:
    """All steps of a search; the ids of its best hypothesis, without end of sentence, and its
    score; and the index of this hypothesis among the candidates of each step until it ends."""

    steps: Sequence[TracedStep]
    best: Sequence[int]
    score: float
    path: Sequence[int]
