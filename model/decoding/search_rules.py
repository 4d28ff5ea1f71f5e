"""The sizes, tokens and constants that every search shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

from model.decoding.sentence import Hypothesis

LOOP_SPAN = 24
"""Tokens that a search checks for a loop."""
LONGEST_LOOP = 6


class Status(IntEnum):
    """State of a slot's search after a step."""

    RUNNING = 0
    DONE = 1
    FAILED = 2


@dataclass(frozen=True)
class SearchSizes:
    """Sentences at once, hypotheses of a beam, and tokens of a hypothesis, at most."""

    n_slots: int
    max_beam: int
    max_length: int


@dataclass(frozen=True)
class SearchTokens:
    """The tokens that a search treats apart: the end of a sentence, one whose logit is always -inf,
    and those that it only copies, each with the source token of the same piece if there is one."""

    eos_id: int
    filler_id: int
    copied_ids: Mapping[int, int | None] = field(default_factory=dict)


def spelled_out(
    tables: Sequence[NDArray[Any]], slot: int, limit: int, eos_id: int
) -> Iterator[Hypothesis]:
    """The hypotheses of one slot, best first. `tables`, indexed by slot: tokens and log_probs
    (K, L), score (K,), -inf for an empty entry, and length (K,); limit: the slot's maximum length
    in tokens."""
    all_tokens, all_log_probs, scores, lengths = tables
    for rank, score in enumerate(scores[slot].tolist()):
        if score == float("-inf"):
            return
        length = int(lengths[slot, rank])
        tokens = all_tokens[slot, rank, :length].tolist()
        log_probs = all_log_probs[slot, rank, :length].tolist()
        if tokens[-1] == eos_id:
            yield Hypothesis(tokens[:-1], log_probs, score, "stop")
        else:
            is_limit = length == limit
            yield Hypothesis(tokens, log_probs, score, "length" if is_limit else "repetition")
