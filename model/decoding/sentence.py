"""What crosses the seam between the runner and whoever drives it: plain Python, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from model.decoding.options import DecodingOptions

LEAST_SOURCE_TOKENS = 16
"""The least that anybody may limit sentences to, the tag and the end included."""


@dataclass(frozen=True)
class SourceSentence:
    """One sentence to translate: source ids, tag and eos included, and how to decode them.

    `is_streamed` asks `Runner.step` for its tokens as they settle. The translation begins with the
    target ids of `prefix`; they count as certain, so that scores are of what follows.
    """

    ids: Sequence[int]
    options: DecodingOptions
    is_streamed: bool = False
    prefix: Sequence[int] = ()

    def target_limit(self, most: int) -> int:
        """How many tokens the translation may have where `most` fit, end of sentence included; the
        prefix must have less."""
        return min(self.options.target_limit(len(self.ids)), most)


@dataclass(frozen=True)
class Hypothesis:
    """One translation. `log_probs` has one entry a generated token, and after "stop" one more
    for eos, which `ids` leaves out. `score` is the length-normalised log-probability. "repetition":
    it was ended because it only went on repeating itself."""

    ids: list[int]
    log_probs: list[float]
    score: float
    finish_reason: Literal["stop", "length", "repetition"]


@dataclass(frozen=True)
class Finished:
    """A sentence that left the batch: its n_best hypotheses, best first, or an error."""

    handle: int
    hypotheses: list[Hypothesis]
    error: str | None = None


@dataclass(frozen=True)
class StepResult:
    """What one step brought. Finished sentences hold no slot any more.

    `streamed` maps handles to newly settled target ids, which no later step can take back.
    """

    finished: list[Finished]
    streamed: dict[int, list[int]]
