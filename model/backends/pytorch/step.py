"""One decoding step: the network, then the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.backends.pytorch.search import Search
from model.backends.pytorch.search_state import Status
from model.backends.pytorch.transfer import DeviceToHost, Pending
from model.decoding.network_interface import BatchRows, Network, RowCandidates, RowTable, StepShape
from model.decoding.slot_options import Features


class Outcome(NamedTuple):
    """The slots of a table after a step: their `Status` (N,). If any is streamed, also the number
    of settled tokens (N,) and the tokens of the best hypothesis (N, L)."""

    status: Tensor
    stable: Tensor | None = None
    tokens: Tensor | None = None

    def of_first(self, n_slots: int) -> Outcome:
        """The outcome of the first `n_slots` slots."""
        if self.stable is None or self.tokens is None:
            return Outcome(self.status[:n_slots])
        return Outcome(self.status[:n_slots], self.stable[:n_slots], self.tokens[:n_slots])


class Progress(NamedTuple):
    """An `Outcome` on the host: place in the step batch and status of each ended slot. If any slot
    is streamed, `stable` and `tokens` as in `Outcome`."""

    ended: list[tuple[int, Status]]
    stable: Sequence[int] = ()
    tokens: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, status: Tensor, stable: Tensor | None = None, tokens: Tensor | None = None
    ) -> Progress:
        """From the tensors of an outcome on the host."""
        codes = status.numpy()
        ended = [(place, Status(codes[place])) for place in codes.nonzero()[0].tolist()]
        if stable is None or tokens is None:
            return cls(ended)
        return cls(ended, stable.tolist(), tokens.numpy())


class Step:
    """Extends the hypotheses of a table by one token each, operation by operation.

    `lag`: how many steps later to read the outcome, so that the host does not wait for the device.
    """

    lag = 0

    def __init__(self, network: Network, search: Search) -> None:
        self._network, self._search = network, search

    @torch.inference_mode()
    def take(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        """Run a step and start the copy of its outcome to the host."""
        outcome = self.outcome(members, shape_of_step, features)
        return DeviceToHost([tensor for tensor in outcome if tensor is not None], Progress.of)

    def outcome(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> Outcome:
        """Run a step of the batch; arguments as for `run`."""
        return self.run(batch.table, shape_of_step, features)

    def run(self, table: RowTable, shape_of_step: StepShape, features: Features) -> Outcome:
        """`features`: the union over the sentences. `shape_of_step` may be larger than needed."""
        self.extend(table, shape_of_step, features)
        status = self._search.status.index_select(0, table.members)
        if not features.has_streams:
            return Outcome(status)
        return Outcome(status, *self._search.streamed(table, shape_of_step.target))

    def extend(self, table: RowTable, shape_of_step: StepShape, features: Features) -> None:
        """Run a step without an outcome."""
        self._network.step(*self._search.frontier(table), table, shape_of_step)
        candidates = self._candidates(table, shape_of_step, features)
        sources = self._search.advance(candidates, table, shape_of_step.target)
        if features.has_terms:
            self._search.follow(sources, table, features)
        if table.by_slot.size(1) > 1:
            self._network.reorder(sources, shape_of_step.target)

    def _candidates(
        self, table: RowTable, shape_of_step: StepShape, features: Features
    ) -> RowCandidates:
        search = self._search
        if features.needs_logits or search.utf8 is not None:
            return self._search.choose(
                self._network.logits(), table, shape_of_step.target, features
            )
        return self._network.rank(2 * table.by_slot.size(1))
