"""The runner's inputs and outputs: plain Python, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.decoding.options import DecodingOptions

FinishReason = Literal["stop", "length", "repetition"]
LEAST_SOURCE_TOKENS = 16
"""The smallest allowed limit on source tokens, tag and eos included."""


@dataclass(frozen=True)
class SourceSentence:
    """One sentence to translate: source ids, tag and eos included, and decoding options.

    With `is_streamed`, `Runner.step` returns tokens as they settle. The translation begins with
    the target ids of `prefix`; they have probability 1, so scores rate only the rest. With
    `is_aligned`, the best hypothesis has its `attention`. A search that `is_cut` looks for
    the next token only: at the length limit the best of the beam count, ended or not.
    """

    ids: Sequence[int]
    options: DecodingOptions
    is_streamed: bool = False
    prefix: Sequence[int] = ()
    is_aligned: bool = False
    is_cut: bool = False

    def target_limit(self, most: int) -> int:
        """Maximum tokens of the translation, at most `most`, end of sentence included; the prefix
        must have fewer."""
        return min(self.options.target_limit(len(self.ids)), most)


@dataclass(frozen=True)
class Hypothesis:
    """One translation. `log_probs` has one entry per token, and after "stop" one more for eos,
    which `ids` omits. `score` is the length-normalised log-probability. "repetition": the search
    ended the hypothesis because it was in a loop. `attention`: for each of `ids` its probabilities
    over the source ids (T, S), the mean of the heads that align words."""

    ids: list[int]
    log_probs: list[float]
    score: float
    finish_reason: FinishReason
    attention: NDArray[np.float32] | None = field(default=None, compare=False)


class AttentionTables(NamedTuple):
    """Probabilities as nested lists, by layer and head: encoder (L, H, S, S), decoder (L, H, T, T)
    and memory (L, H, T, S). Row i of the decoder and the memory is what predicts target token i."""

    encoder: list[object]
    decoder: list[object]
    memory: list[object]


class Finished(NamedTuple):
    """A sentence that left the batch: its n_best hypotheses, best first, or an error."""

    handle: int
    hypotheses: list[Hypothesis]
    error: str | None = None


class StepResult(NamedTuple):
    """The results of one step. Finished sentences hold no slot.

    `streamed` maps handles to newly settled target ids, which later steps do not change.
    """

    finished: list[Finished]
    streamed: dict[int, list[int]]
