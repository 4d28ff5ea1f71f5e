"""What a decoding step asks of the code that computes the network: PyTorch or our own C++.

Slots and rows are those of `model.decoding.slot_allocator`; V is the target vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from model.decoding.slot_allocator import BatchView, Compaction
from model.decoding.transfer import to_device
from model.network.config import ModelConfig

Precision = Literal["float32", "bfloat16", "float16", "int8"]


class RowTable(NamedTuple):
    """Who takes part in a step: R rows, which belong to N slots.

    by_slot (N, K) holds the place of each slot's k-th hypothesis among them (its first one's where
    it has fewer than K); slots and beams (R,) say whose each is. members (N,) and rows (R,) are
    the slots and rows themselves: all live ones in order, unless a step may leave some out. drawn
    (D,): places of the rows whose token is drawn at random.
    """

    by_slot: Tensor
    slots: Tensor
    beams: Tensor
    members: Tensor
    rows: Tensor
    drawn: Tensor

    @classmethod
    def of(cls, view: BatchView, drawn: Sequence[int], device: torch.device) -> RowTable:
        """The table of the rows of a part; sent to the device in one."""
        slots, beams = zip(*view.owners, strict=True)
        cells = [row for rows in view.table for row in rows]
        columns = [cells, slots, beams, view.slots, view.rows, drawn]
        flat = to_device([number for column in columns for number in column], device, torch.int64)
        by_slot, *others = flat.split([len(column) for column in columns])
        return cls(by_slot.view(len(view.slots), -1), *others)


class BatchRows:
    """Who takes part in a step, as the host knows them."""

    def __init__(self, view: BatchView, drawn: Sequence[int], device: torch.device) -> None:
        """`drawn`: places of the rows whose token is drawn at random."""
        self.view, self._drawn, self._device = view, drawn, device

    @cached_property
    def table(self) -> RowTable:
        """The same in tensors, made when first asked for."""
        return RowTable.of(self.view, self._drawn, self._device)


class RowCandidates(NamedTuple):
    """The likeliest next tokens of every row, best first: log_probs and tokens (R, C), and which
    rows' scores are not finite (R,)."""

    log_probs: Tensor
    tokens: Tensor
    is_failed: Tensor


class StepShape(NamedTuple):
    """How far a step has to look: tokens of the longest history, the new one included, and of the
    longest source; or more."""

    target: int
    source: int


class Capacity(NamedTuple):
    """How much a network must be able to hold."""

    max_slots: int
    max_rows: int
    max_source_tokens: int
    max_target_tokens: int


class Model(Protocol):
    """A network's weights: a `Transformer`, or one that is still on disk."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """By their names, each once."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it is, or is to be."""
        ...


class Network(Protocol):
    """Weights, and the keys and values of what was read and written.

    `can_step_subset`: whether a step may be of any rows, at about their share of the cost of all.
    If not, live slots must be 0..N-1 and live rows 0..R-1.
    """

    can_step_subset: bool

    def share_cores(self, sharers: int) -> None:
        """So many networks compute on this machine's cores now, each in a thread of its own."""

    def encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        """Encode sources and keep what the decoder attends to in their slots."""

    def step(
        self, tokens: Tensor, positions: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> None:
        """Give row i its next token tokens[i] (R,) at positions[i] (R,)."""

    def logits(self) -> Tensor:
        """The last step's scores (R, V), control ids at -inf; the caller may overwrite them."""

    def rank(self, count: int) -> RowCandidates:
        """The last step's `count` likeliest tokens."""

    def reorder(self, sources: Tensor, length: int) -> None:
        """Of the last step's rows the i-th takes over the first `length` tokens of the
        sources[i]-th (R,)."""

    def move(self, moves: Compaction, length: int) -> None:
        """Sentences move to other slots and rows; length as above."""


def likeliest(logits: Tensor, count: int, is_forbidden: Tensor | None = None) -> RowCandidates:
    """The `count` likeliest tokens of logits (R, V), without those that `is_forbidden` (R, V).

    Their logits are overwritten, but they keep their share of the probability: going on from what
    the model hardly believes in has to cost something.
    """
    normaliser = logits.logsumexp(-1, keepdim=True)
    if is_forbidden is not None:
        logits.masked_fill_(is_forbidden, float("-inf"))
    values, tokens = logits.topk(min(count, logits.size(1)))
    return RowCandidates(values - normaliser, tokens, ~normaliser.isfinite().squeeze(1))
