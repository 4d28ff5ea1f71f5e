"""The interface between a runner and its backend: PyTorch or our C++.

Slots and rows are those of `model.decoding.slot_allocator`; V is the target vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.decoding.search_rules import Status
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.slot_allocator import BatchView, Columns, Compaction
from model.decoding.slot_options import Features
from model.network.config import ModelConfig
from model.network.shortlist import Shortlist

Precision = Literal["float32", "bfloat16", "float16", "int8"]
Result = TypeVar("Result", covariant=True)
Table = TypeVar("Table")
Ranked = list[list[Hypothesis]]
"""The hypotheses of several sentences, each best first."""


class BatchRows:
    """The batch rows of a step."""

    def __init__(self, view: BatchView, drawn: Sequence[int]) -> None:
        """`drawn`: places of the rows that sample their token."""
        self.view, self.drawn = view, drawn

    @cached_property
    def columns(self) -> Columns:
        """The numbers of the rows, made on first use."""
        return self.view.columns


class StepShape(NamedTuple):
    """Upper bounds on what a step reads: tokens of the longest history, including the new one, and
    of the longest source."""

    target: int
    source: int


class Capacity(NamedTuple):
    """The sizes of a network's caches."""

    max_slots: int
    max_rows: int
    max_source_tokens: int
    max_target_tokens: int


class EndedSentence(NamedTuple):
    """A sentence whose caches still exist: its place among those that ended together, its slot and
    one of its rows, its number of source tokens, and an upper bound on its target tokens."""

    place: int
    slot: int
    row: int
    num_source_tokens: int
    most_target_tokens: int


class WholeHypotheses(NamedTuple, Generic[Table]):
    """One whole hypothesis of each of N slots, as input of one decoder pass.

    `tokens` (N, T) are padded with any ids after `lengths` (N,). `slots`, and a row of each, are on
    the host. `longest_source` is in tokens."""

    slots: Sequence[int]
    rows: Sequence[int]
    tokens: Table
    lengths: Table
    longest_source: int


class Pending(Protocol[Result]):
    """A result that the host gets later."""

    def wait(self) -> Result:
        """Block until the result is available."""
        ...


class Ready(Generic[Result]):
    """A result that is already available."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def wait(self) -> Result:
        return self._result


class Progress(NamedTuple):
    """A step's outcome: place in the step batch and status of each ended slot. If any slot is
    streamed, also the number of settled tokens of all N slots and the tokens (N, L) of their best
    hypotheses."""

    ended: list[tuple[int, Status]]
    stable: Sequence[int] = ()
    tokens: NDArray[np.int64] | None = None


class StepRecord(NamedTuple):
    """A step of one sentence with K rows, as arrays. `logits` (K, V) are those before any option;
    the tokens of `is_forbidden` (K, V) may not be chosen. The candidates are `log_probs` and
    `tokens` (K, C), best first. `scores` (K,) are those of the hypotheses before the step. After it
    each row continues a row of `sources` (K,) with the token of `last` (K,), and has a score of
    `kept` (K,). Hypotheses with a score of -inf do not exist."""

    logits: NDArray[np.float32]
    is_forbidden: NDArray[np.bool_] | None
    log_probs: NDArray[np.float32]
    tokens: NDArray[np.int64]
    scores: NDArray[np.float32]
    sources: NDArray[np.int64]
    last: NDArray[np.int64]
    kept: NDArray[np.float32]


class Model(Protocol):
    """A network's weights: a `Transformer` or a model on disk."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def shortlist(self) -> Shortlist | None: ...

    @property
    def weights(self) -> Mapping[str, Any]:
        """Weights by name, each once, as arrays or tensors."""
        ...


class Decoder(Protocol):
    """A network, its caches of the keys and values of sources and hypotheses, and the search of
    every slot.

    `can_step_subset`: whether a step takes any subset of rows, at a roughly proportional cost.
    If not, live slots must be 0..N-1 and live rows 0..R-1. `lag`: how many steps later to read the
    progress, so that the host does not wait for the device.
    """

    can_step_subset: bool
    lag: int

    @property
    def is_recorded(self) -> bool:
        """Whether steps are recorded."""
        ...

    def in_use(self) -> AbstractContextManager[object]:
        """Compute on the decoder's device inside the block. Raises DeviceLost for an error that the
        device does not recover from; other errors pass."""
        ...

    def share_cores(self, sharers: int) -> None:
        """Use 1 / `sharers` of the cores; that many networks compute at once, one thread each."""

    def warm_up(self) -> None:
        """Run the code that is slow the first time, while no slot is in use. Raises RuntimeError if
        a fast path does not work."""

    def record(self, usual: Sequence[SourceSentence]) -> None:
        """Record the steps of batches of such sentences, while no slot is in use."""

    def admit(
        self,
        slots: Sequence[int],
        rows: Sequence[Sequence[int]],
        sentences: Sequence[SourceSentence],
        limits: Sequence[int],
    ) -> None:
        """Encode sentences and start their searches in free slots and rows, with at most `limits`
        tokens each."""

    def take_step(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        """Extend the hypotheses of the members by one token. `features`: the union over them."""
        ...

    def traced(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> StepRecord:
        """As `take_step`, for one sentence in slot 0, with a record of the step."""
        ...

    def status(self, slot: int) -> Status: ...

    def results(self, slots: Sequence[int], limits: Sequence[int], n_best: int) -> Pending[Ranked]:
        """A snapshot of each slot's finished hypotheses, best first: at most `n_best`, of at most
        `limits` tokens."""
        ...

    def attention(self, ended: Sequence[EndedSentence]) -> Pending[NDArray[np.float32]]:
        """The mean attention of the alignment heads to the memory when each token of the best
        hypotheses is predicted -> (N, T, S). Entries beyond a hypothesis or its source are any
        numbers. The slots must not step again."""
        ...

    def move(self, moves: Compaction) -> None:
        """Copy slots and rows as `moves` says."""
