"""The network as PyTorch operations, one by one: every device, every architecture option."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from model.cache import MemoryCache, RowCache, StepRows
from model.layout import Moves
from model.network import Room, RowCandidates, RowTable, likeliest
from model.transformer import Transformer


class EagerNetwork:
    """`model.network.Network` by `Transformer` and the caches of `model.cache`."""

    can_leave_out = False

    def __init__(self, model: Transformer, control_ids: Sequence[int], room: Room) -> None:
        self._model = model.eval()
        weight = next(model.parameters())
        self.device = weight.device
        self._control_ids = torch.tensor(control_ids, dtype=torch.int64, device=self.device)
        self._rows = RowCache(model.config, room.max_rows, room.max_target_tokens, weight)
        self._memory = MemoryCache(model.config, room.max_slots, room.max_source_tokens, weight)
        self._lengths: list[int] = []
        self._logits = torch.empty(0)

    def reserve(self, slot: int, rows: Sequence[int]) -> None:
        self._lengths.append(0)

    def encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        lengths = [len(ids) for ids in sources]
        pad_id = self._model.config.pad_id
        src = torch.full((len(sources), max(lengths)), pad_id, device=self.device)
        for i, ids in enumerate(sources):
            src[i, : lengths[i]] = torch.tensor(ids, device=self.device)
        projected = self._model.project_memory(self._model.encode(src))
        where = torch.tensor(slots, device=self.device)
        self._memory.store(where, projected, torch.tensor(lengths, device=self.device))
        for slot, length in zip(slots, lengths, strict=True):
            self._lengths[slot] = length

    def step(self, tokens: Tensor, positions: Tensor, table: RowTable, length: int) -> None:
        context = StepRows(self._rows, self._memory, table, positions, length, max(self._lengths))
        self._logits = self._model.step(tokens, context).float()
        self._logits[:, self._control_ids] = float("-inf")

    def logits(self) -> Tensor:
        return self._logits

    def rank(self, count: int) -> RowCandidates:
        return likeliest(self._logits, count)

    def reorder(self, sources: Tensor, length: int) -> None:
        """Those that go on from themselves stay where they are."""
        targets = torch.arange(len(sources), device=self.device)
        is_moved = sources != targets
        self._rows.copy(targets[is_moved], sources[is_moved], length)

    def release(self, slot: int, rows: Sequence[int], moves: Moves, length: int) -> None:
        if moves.rows:
            targets, sources = torch.tensor(moves.rows, device=self.device).unbind(1)
            self._rows.copy(targets, sources, length)
        if moves.slot:
            target, source = moves.slot
            self._memory.move(target, source, self._lengths[source])
            self._lengths[target] = self._lengths[source]
        self._lengths.pop()
