"""The record of one sentence's beam search: plain Python, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What becomes of a candidate. An ended one needs no further step."""

    KEPT = "kept"
    ENDED = "ended"
    DROPPED = "dropped"


@dataclass(frozen=True)
class SearchCandidate:
    """An extension of a live hypothesis by a token. parent: the place of that hypothesis among the
    live ones; log_prob: of the token; total: of the hypothesis; fate: "kept", "ended" or "dropped";
    place: its own among the live ones of the next step, only if kept."""

    parent: int
    token: str
    log_prob: float
    total: float
    fate: Fate
    place: int | None = None


@dataclass(frozen=True)
class SearchStep:
    """A step of the search. candidates: best first, as many as twice the beam; likeliest: for each
    live hypothesis the next tokens with the highest probability, as [token, probability], before
    options change them."""

    candidates: list[SearchCandidate]
    likeliest: list[list[tuple[str, float]]]


@dataclass(frozen=True)
class SearchTrace:
    """All steps of a search; the ids of its best hypothesis, without end of sentence, and its
    score; and the index of this hypothesis among the candidates of each step until it ends."""

    steps: list[SearchStep]
    best: Sequence[int]
    score: float
    path: list[int]
