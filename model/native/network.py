"""`model.network.Network` by our own CPU code.

Rows and slots of the compiled network never move: what a sentence is known by outside (live slots
0..N-1, live rows 0..R-1) is looked up here, and a hypothesis that goes on from another one copies
only the list of which row holds which position.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.config import Activation, ModelConfig
from model.layout import Moves
from model.native.library import NextWeight, address, load_library
from model.native.weights import WeightSupply, packed_weights, tables_of
from model.network import Extent, Model, Room, RowCandidates, RowTable

_ACTIVATIONS: dict[Activation, int] = {"relu": 0, "gelu": 1, "silu": 2}
_BATCH_TOKENS = 1024
_INTEGERS = (
    *("d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "src_vocab_size"),
    *("tgt_vocab_size", "is_pre_norm", "activation", "is_quantised"),
)
_BOUNDS = ("max_rows", "max_slots", "max_source_tokens", "max_target_tokens", "max_batch_tokens")


class _Shape(ctypes.Structure):
    """`Shape` of network.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in _INTEGERS),
        ("embedding_scale", ctypes.c_float),
        *((name, ctypes.c_int32) for name in (*_BOUNDS, "kernels")),
    )


class _StepTable(ctypes.Structure):
    """`StepTable` of decode.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("n_slots", "width", "n_rows")),
        *((name, ctypes.c_void_p) for name in ("members", "by_slot", "owners", "beams")),
        *((name, ctypes.c_void_p) for name in ("rows", "slots", "order")),
    )


class _Membership(NamedTuple):
    """Who takes part in a step, as the compiled network knows them: (R,) int32 each; and where it
    finds all that."""

    table: RowTable
    rows: Tensor
    slots: Tensor
    order: Tensor
    step_table: _StepTable


class NativeNetwork:
    """Computes with a packed copy of the model's weights: bytes if `is_quantised`, else float32."""

    can_leave_out = True

    def __init__(
        self,
        model: Model,
        control_ids: Sequence[int],
        room: Room,
        is_quantised: bool,
        kernels: int = 0,
    ) -> None:
        """`kernels`: which of `kernel_names` computes. Raises MemoryError if the copy and the
        caches do not fit."""
        library = load_library()
        if library is None:
            raise RuntimeError("model/native was not compiled")
        self._library = library
        self._config = config = model.config
        self._batch_tokens = max(_BATCH_TOKENS, room.max_source_tokens, room.max_rows)
        self._tables = tables_of(config, model.weights)
        tables = (ctypes.c_void_p * len(self._tables))(*map(address, self._tables))
        supply = WeightSupply(packed_weights(config, model.weights, self._tables, control_ids))
        shape = _shape(config, room, self._batch_tokens, is_quantised)
        shape.kernels = kernels
        library.dragoman_use_threads(torch.get_num_threads())
        self._network = library.dragoman_new(ctypes.byref(shape), tables, NextWeight(supply))
        weakref.finalize(self, library.dragoman_delete, self._network)
        if supply.error is not None:
            raise supply.error
        if self._network is None:
            raise MemoryError("the model's weights and caches do not fit into memory")
        self._rows: list[int] = []
        self._slots: list[int] = []
        self._free_rows = list(reversed(range(room.max_rows)))
        self._free_slots = list(reversed(range(room.max_slots)))
        self._members: _Membership | None = None
        self._num_rows = 0

    def reserve(self, slot: int, rows: Sequence[int]) -> None:
        self._slots.append(self._free_slots.pop())
        self._rows += [self._free_rows.pop() for _ in rows]

    def encode(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        """In batches that fit the compiled network's buffers; nothing is padded."""
        start, num_tokens = 0, 0
        for end, source in enumerate(sources):
            if num_tokens + len(source) > self._batch_tokens:
                self._encode(slots[start:end], sources[start:end])
                start, num_tokens = end, 0
            num_tokens += len(source)
        self._encode(slots[start:], sources[start:])

    def encoded(self, slots: Sequence[int], sources: Sequence[Sequence[int]]) -> Tensor:
        """As `encode`, and the encoder's output (all tokens, D)."""
        num_tokens = sum(map(len, sources))
        memory = torch.empty(num_tokens, self._config.d_model)
        self._encode(slots, sources, memory)
        return memory

    def _encode(
        self,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        memory: Tensor | None = None,
    ) -> None:
        ids = torch.tensor([token for source in sources for token in source], dtype=torch.int64)
        lengths = _ints([len(source) for source in sources])
        places = _ints([self._slots[slot] for slot in slots])
        arguments = (address(ids), address(lengths), address(places), address(memory))
        self._library.dragoman_encode(self._network, len(sources), *arguments)

    def step(self, tokens: Tensor, positions: Tensor, table: RowTable, extent: Extent) -> None:
        members = self._members_of(table)
        tensors = (tokens, positions, members.rows, members.slots, members.order)
        addresses = [address(tensor) for tensor in tensors]
        self._library.dragoman_step(self._network, self._num_rows, *addresses)

    def decode(self, search: object, table: RowTable, length: int) -> None:
        """A whole step, searches included, whose state is `NativeSearch.state`."""
        members = self._members_of(table)
        count = min(2 * table.by_slot.size(1), self._config.tgt_vocab_size)
        where = ctypes.byref(members.step_table)
        self._library.dragoman_decode(self._network, search, where, count, length)

    def logits(self) -> Tensor:
        logits = torch.empty(self._num_rows, self._config.tgt_vocab_size)
        self._library.dragoman_logits(self._network, address(logits))
        return logits

    def rank(self, count: int) -> RowCandidates:
        count = min(count, self._config.tgt_vocab_size)
        log_probs = torch.empty(self._num_rows, count)
        tokens = torch.empty(self._num_rows, count, dtype=torch.int64)
        self._library.dragoman_rank(self._network, count, address(log_probs), address(tokens))
        return RowCandidates(log_probs, tokens, log_probs[:, 0].isnan())

    def reorder(self, sources: Tensor, length: int) -> None:
        assert self._members is not None
        addresses = (address(self._members.rows), address(sources))
        self._library.dragoman_reorder(self._network, len(sources), *addresses, length)

    def release(self, slots: Sequence[int], rows: Sequence[int], moves: Moves, length: int) -> None:
        self._free_slots += _taken_out(self._slots, slots, moves.slots)
        self._free_rows += _taken_out(self._rows, rows, moves.rows)

    def _members_of(self, table: RowTable) -> _Membership:
        if self._members is None or self._members.table is not table:
            self._members = self._membership(table)
            self._num_rows = len(table.rows)
        return self._members

    def _membership(self, table: RowTable) -> _Membership:
        rows, slots = _ints(self._rows)[table.rows], _ints(self._slots)[table.slots]
        order = table.slots.argsort().int()
        tensors = (table.members, table.by_slot, table.slots, table.beams, rows, slots, order)
        step_table = _StepTable(*table.by_slot.shape, len(rows), *map(address, tensors))
        return _Membership(table, rows, slots, order, step_table)


def _shape(config: ModelConfig, room: Room, batch_tokens: int, is_quantised: bool) -> _Shape:
    return _Shape(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_ff=config.d_ff,
        n_encoder_layers=config.n_encoder_layers,
        n_decoder_layers=config.n_decoder_layers,
        src_vocab_size=config.src_vocab_size,
        tgt_vocab_size=config.tgt_vocab_size,
        is_pre_norm=config.norm == "pre",
        activation=_ACTIVATIONS[config.activation],
        is_quantised=is_quantised,
        embedding_scale=config.embedding_scale,
        max_rows=room.max_rows,
        max_slots=room.max_slots,
        max_source_tokens=room.max_source_tokens,
        max_target_tokens=room.max_target_tokens,
        max_batch_tokens=batch_tokens,
    )


def _taken_out(
    places: list[int], gone: Sequence[int], moves: Sequence[tuple[int, int]]
) -> list[int]:
    """Take those that are gone out of the list, whose last ones move into the holes."""
    freed = [places[index] for index in gone]
    for target, source in moves:
        places[target] = places[source]
    del places[len(places) - len(gone) :]
    return freed


def _ints(values: Sequence[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)
