"""The interface between a decoding step and the network backend: PyTorch or our C++.

Slots and rows are those of `model.decoding.slot_allocator`; V is the target vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from model.backends.pytorch.transfer import Transfer, to_device
from model.decoding.slot_allocator import BatchView, Columns, Compaction
from model.network.attention_maps import AttentionHead
from model.network.config import ModelConfig

Precision = Literal["float32", "bfloat16", "float16", "int8"]


class RowTable(NamedTuple):
    """The batch rows of a step as tensors: R rows of N slots.

    A place is an index into the R rows. by_slot (N, K): the place of each slot's k-th hypothesis;
    a slot with fewer than K repeats its first. slots and beams (R,): the slot and beam of each row.
    members (N,) and rows (R,): the slots and rows themselves; all live ones in order unless the
    network can step a subset. drawn (D,): places of the rows that sample their token.
    """

    by_slot: Tensor
    slots: Tensor
    beams: Tensor
    members: Tensor
    rows: Tensor
    drawn: Tensor

    @classmethod
    def of(cls, view: BatchView, drawn: Sequence[int], device: torch.device) -> RowTable:
        """The table of a batch view; one transfer to the device."""
        by_slot, *others = view.columns
        columns = [by_slot.reshape(-1), *others, np.array(drawn, dtype=np.int64)]
        flat = to_device(np.concatenate(columns), device)
        places, *rest = flat.split([len(column) for column in columns])
        return cls(places.view(by_slot.shape), *rest)


class BatchRows:
    """The batch rows of a step on the host."""

    def __init__(self, view: BatchView, drawn: Sequence[int], device: torch.device) -> None:
        """`drawn`: places of the rows that sample their token."""
        self.view, self.drawn, self._device = view, drawn, device

    @cached_property
    def columns(self) -> Columns:
        """The numbers of the table."""
        return self.view.columns

    @cached_property
    def table(self) -> RowTable:
        """The same as tensors, built on first use."""
        return RowTable.of(self.view, self.drawn, self._device)


class RowCandidates(NamedTuple):
    """The likeliest next tokens of every row, best first: log_probs and tokens (R, C), and
    is_failed (R,): whether the row's scores are not finite. If a sentence has terms, also how many
    tokens of terms are needed after each candidate (R, C), and these come in two halves."""

    log_probs: Tensor
    tokens: Tensor
    is_failed: Tensor
    needed: Tensor | None = None


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


class WholeHypotheses(NamedTuple):
    """One hypothesis of each of N slots: tokens (N, T), where those after its length (N,) are any
    ids; the slots, and a row of each, on the host; and the tokens of the longest source."""

    slots: Sequence[int]
    rows: Sequence[int]
    tokens: Tensor
    lengths: Tensor
    longest_source: int


class Model(Protocol):
    """A network's weights: a `Transformer` or a model on disk."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """Weights by name, each once."""
        ...

    @property
    def device(self) -> torch.device:
        """The device that the weights are on or will be loaded to."""
        ...


class Network(Protocol):
    """Weights, and caches of the keys and values of sources and hypotheses.

    `can_step_subset`: whether a step takes any subset of rows, at a roughly proportional cost.
    If not, live slots must be 0..N-1 and live rows 0..R-1.
    """

    can_step_subset: bool

    def share_cores(self, sharers: int) -> None:
        """Use 1 / `sharers` of the cores; that many networks compute at once, one thread each."""

    def warm_up(self) -> None:
        """Run what is slow the first time, while no slot is in use. Raises RuntimeError if a fast
        path does not work."""

    def clear(self, slots: Sequence[int], rows: Sequence[int], transfer: Transfer) -> None:
        """Forget what earlier sentences left in slots and rows that new ones take, at the latest
        when the transfer runs: NaN of a sentence that overflowed survives a mask, because 0 x NaN
        is NaN."""

    def encode(
        self, slots: Sequence[int], sources: Sequence[Sequence[int]], transfer: Transfer
    ) -> None:
        """Encode sources and cache the decoder's memory in their slots, at the latest when the
        transfer runs."""

    def step(
        self, tokens: Tensor, positions: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> None:
        """Feed tokens (R,) at positions (R,) to the rows of the table."""

    def logits(self) -> Tensor:
        """The last step's logits (R, V), control ids at -inf; the caller may overwrite them."""

    def rank(self, count: int) -> RowCandidates:
        """The last step's `count` likeliest tokens."""

    def attention(self, hypotheses: WholeHypotheses, heads: Sequence[AttentionHead]) -> Tensor:
        """The mean attention of `heads` to the memory when each token of the hypotheses is
        predicted, by a teacher-forced pass -> (N, T, S). Entries beyond a hypothesis or its source
        are any numbers. The rows must not step again."""

    def reorder(self, sources: Tensor, length: int) -> None:
        """Row i of the last step takes over the first `length` tokens of row sources[i] (R,) of
        that step."""

    def move(self, moves: Compaction) -> None:
        """Copy slots and rows as `moves` says."""


def likeliest(logits: Tensor, count: int, is_forbidden: Tensor | None = None) -> RowCandidates:
    """The `count` likeliest tokens of logits (R, V), except `is_forbidden` ones (R, V).

    Overwrites forbidden logits. The normaliser still includes them, so a row that puts most of its
    probability on forbidden tokens gets low scores.
    """
    normaliser = logits.logsumexp(-1, keepdim=True)
    if is_forbidden is not None:
        logits.masked_fill_(is_forbidden, float("-inf"))
    values, tokens = logits.topk(min(count, logits.size(1)))
    return RowCandidates(values - normaliser, tokens, ~normaliser.isfinite().squeeze(1))
