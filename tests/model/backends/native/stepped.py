"""The compiled network without a search, in tensors, to compare with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from model.backends.native import NativeNetwork, PackedModel
from model.backends.native.library import address
from model.backends.pytorch.rows import RowCandidates, RowTable
from model.decoding.decoder import Capacity, StepShape, WholeHypotheses
from model.network.config import AttentionHead


class SteppedNetwork(NativeNetwork):
    """A network without a search."""

    def __init__(self, packed: PackedModel, capacity: Capacity) -> None:
        super().__init__(packed, capacity)
        self._rows = torch.empty(0, dtype=torch.int32)

    def step(
        self, tokens: Tensor, positions: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> None:
        rows, slots, order = table.rows.int(), table.slots.int(), table.slots.argsort().int()
        addresses = [address(part.numpy()) for part in (tokens, positions, rows, slots, order)]
        self._library.dragoman_step(self._network, len(rows), *addresses)
        self._rows, self._stepped_rows = rows, len(rows)

    def logits(self) -> Tensor:
        return torch.from_numpy(super().logits())

    def rank(self, count: int) -> RowCandidates:
        count = min(count, self._config.tgt_vocab_size)
        log_probs = torch.empty(len(self._rows), count)
        tokens = torch.empty(len(self._rows), count, dtype=torch.int64)
        found = address(log_probs.numpy()), address(tokens.numpy())
        self._library.dragoman_rank(self._network, count, *found)
        return RowCandidates(log_probs, tokens, log_probs[:, 0].isnan())

    def reorder(self, sources: Tensor, length: int) -> None:
        addresses = address(self._rows.numpy()), address(sources.numpy())
        self._library.dragoman_reorder(self._network, len(sources), *addresses, length)

    def attention(
        self, hypotheses: WholeHypotheses[Tensor], heads: Sequence[AttentionHead]
    ) -> Tensor:
        tokens, lengths = hypotheses.tokens.numpy(), hypotheses.lengths.numpy()
        arrays = hypotheses._replace(tokens=tokens, lengths=lengths)
        return torch.from_numpy(super().attention(arrays, heads))
