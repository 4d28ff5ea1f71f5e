"""One decoding step: the network, then the search."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.search import Search
from model.backends.pytorch.transfer import DeviceToHost
from model.decoding.decoder import BatchRows, Pending, Progress, StepRecord, StepShape
from model.decoding.search_rules import Status
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


def _progress(
    status: Tensor, stable: Tensor | None = None, tokens: Tensor | None = None
) -> Progress:
    """From the tensors of an outcome on the host."""
    codes = status.numpy()
    ended = [(place, Status(codes[place])) for place in codes.nonzero()[0].tolist()]
    if stable is None or tokens is None:
        return Progress(ended)
    return Progress(ended, stable.tolist(), tokens.numpy())


class Step:
    """Extends the hypotheses of a table by one token each, operation by operation.

    `lag`: as of `model.decoding.decoder.Decoder`.
    """

    lag = 0

    def __init__(self, network: EagerNetwork, search: Search) -> None:
        self._network, self._search = network, search
        self._members: BatchRows | None = None
        self._table: RowTable | None = None

    @torch.inference_mode()
    def take_step(
        self, members: BatchRows, shape_of_step: StepShape, features: Features
    ) -> Pending[Progress]:
        """Run a step and start the copy of its outcome to the host."""
        outcome = self.outcome(members, shape_of_step, features)
        return DeviceToHost([tensor for tensor in outcome if tensor is not None], _progress)

    def outcome(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> Outcome:
        """Run a step of the batch; arguments as for `run`."""
        return self.run(self.table_of(batch), shape_of_step, features)

    def table_of(self, batch: BatchRows) -> RowTable:
        """The batch's table: the last step's if the batch is the same."""
        if self._table is None or self._members is not batch:
            self._members = batch
            self._table = RowTable.of(batch, self._search.length.device)
        return self._table

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
        logits, length = self._network.logits(), shape_of_step.target
        candidates = self._search.choose(logits, table, length, features)
        sources = self._search.advance(candidates, table, length)
        if table.by_slot.size(1) > 1:
            self._network.reorder(sources, length)

    def traced(self, batch: BatchRows, shape_of_step: StepShape, features: Features) -> StepRecord:
        """As `model.decoding.decoder.Decoder.traced`, on the CPU."""
        search, table = self._search, self.table_of(batch)
        width, length = len(table.rows), shape_of_step.target
        self._network.step(*search.frontier(table), table, shape_of_step)
        logits, scores = self._network.logits().clone(), search.live.score[0, :width].clone()
        is_forbidden = search.forbidden(table, features)
        chosen = search.choose(self._network.logits(), table, length, features)
        sources = search.advance(chosen, table, length)
        if width > 1:
            self._network.reorder(sources, length)
        return StepRecord(
            logits.numpy(),
            None if is_forbidden is None else is_forbidden.numpy(),
            *(chosen.log_probs.numpy(), chosen.tokens.numpy(), scores.numpy(), sources.numpy()),
            *(search.last[0, :width].numpy(), search.live.score[0, :width].numpy()),
        )
