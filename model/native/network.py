"""`model.network.Network` by our own CPU code.

Nobody moves from row to row: a hypothesis that goes on from another one copies only the list of
which row holds which position.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from model.config import Activation, ModelConfig
from model.layout import Moves, Part
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
        *((name, ctypes.c_int32) for name in ("n_slots", "n_rows")),
        *((name, ctypes.c_void_p) for name in ("slots", "rows")),
    )


class CompiledPart:
    """A part as the compiled library reads it: its slots (N,) and all their rows (R,)."""

    def __init__(self, part: Part) -> None:
        self.slots = np.array(part.slots, dtype=np.int64)
        self._rows = np.array(part.rows, dtype=np.int32)
        self.width = max(map(len, part.groups))
        sizes = (len(self.slots), len(self._rows))
        self._table = _StepTable(*sizes, address(self.slots), address(self._rows))
        self.table = ctypes.byref(self._table)


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
        self._stepped_rows = torch.empty(0, dtype=torch.int32)

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
        ids = np.array(list(chain.from_iterable(sources)), dtype=np.int64)
        lengths = np.array([len(source) for source in sources], dtype=np.int32)
        where = np.array(slots, dtype=np.int32)
        arguments = (address(ids), address(lengths), address(where), address(memory))
        self._library.dragoman_encode(self._network, len(sources), *arguments)

    def step(self, tokens: Tensor, positions: Tensor, table: RowTable, extent: Extent) -> None:
        rows, slots, order = table.rows.int(), table.slots.int(), table.slots.argsort().int()
        addresses = [address(tensor) for tensor in (tokens, positions, rows, slots, order)]
        self._library.dragoman_step(self._network, len(rows), *addresses)
        self._stepped_rows = rows

    def decode(self, search: object, part: CompiledPart, length: int) -> int:
        """A whole step, searches included, whose state is `NativeSearch.state` -> how many of them
        have ended."""
        count = min(2 * part.width, self._config.tgt_vocab_size)
        return self._library.dragoman_decode(self._network, search, part.table, count, length)

    def logits(self) -> Tensor:
        logits = torch.empty(len(self._stepped_rows), self._config.tgt_vocab_size)
        self._library.dragoman_logits(self._network, address(logits))
        return logits

    def rank(self, count: int) -> RowCandidates:
        count = min(count, self._config.tgt_vocab_size)
        log_probs = torch.empty(len(self._stepped_rows), count)
        tokens = torch.empty(len(self._stepped_rows), count, dtype=torch.int64)
        self._library.dragoman_rank(self._network, count, address(log_probs), address(tokens))
        return RowCandidates(log_probs, tokens, log_probs[:, 0].isnan())

    def reorder(self, sources: Tensor, length: int) -> None:
        addresses = (address(self._stepped_rows), address(sources))
        self._library.dragoman_reorder(self._network, len(sources), *addresses, length)

    def move(self, moves: Moves, length: int) -> None:
        """Where a step may be of any rows, nobody has to."""


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
