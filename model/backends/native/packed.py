"""A model's weights in the packed layout of the native backend."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from model.backends.memory import Allocate, Memory, give_memory_back, own_memory
from model.backends.native.library import (
    Mirrored,
    NextWeight,
    address,
    choose_instruction_set,
    free_with,
    kernel_names,
    required_library,
)
from model.backends.native.placed_tables import (
    DIRECTORY_BYTES,
    put_tables,
    table_bytes,
    tables_in,
)
from model.backends.native.weights import Tables, WeightSupply, packed_weights, tables_of
from model.checkpoint.weights import StoredWeights
from model.decoding.decoder import Model
from model.network.config import Activation

if TYPE_CHECKING:
    from model.backends.shared_files import SharedFiles

ACTIVATIONS: dict[Activation, int] = {"relu": 0, "gelu": 1, "silu": 2, "gelu_tanh": 3}
_PACKED_BEFORE = NextWeight()
_INTEGERS = (
    *("d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "src_vocab_size"),
    *("tgt_vocab_size", "is_pre_norm", "has_embedding_norm", "activation", "is_quantised"),
    *("max_positions", "has_half_tables", "head_size", "is_attention_scaled", "is_gated"),
    *("has_rms_norms", "is_recurrent", "has_shortlist"),
)


class _Shape(Mirrored):
    """`Shape` of weights.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in _INTEGERS),
        ("embedding_scale", ctypes.c_float),
        ("kernels", ctypes.c_int32),
    )


class _Tables(Mirrored):
    """`Tables` of weights.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in Tables._fields)


class PackedModel:
    """A packed copy of a model's weights: int8 if `is_quantised`, else float32.

    It is read-only, so any number of networks share it, one thread each, and of processes.
    """

    def __init__(
        self,
        model: Model,
        control_ids: Sequence[int],
        is_quantised: bool,
        instruction_set: str | None = None,
        shared: SharedFiles | None = None,
    ) -> None:
        """`instruction_set`: as of `choose_instruction_set`; `shared`: where processes have the
        weights of a stored model once. Raises ValueError if the CPU lacks the instruction set,
        MemoryError if the copy does not fit, WeightError for a bad weight, and any error of reading
        a weight."""
        self.config, self.shortlist = model.config, model.shortlist
        kernels = kernel_names().index(choose_instruction_set(instruction_set))
        try:
            key = _key(model, control_ids, is_quantised)

            def fill(allocate: Allocate) -> Memory:
                return _filled(allocate, model, control_ids, is_quantised)

            self._memory = shared.filled(key, fill) if shared and key else fill(own_memory)
            tables = tables_in(self._memory)
            shape = _shape(model, is_quantised, kernels, tables)
            self.handle = _packed(shape, tables, self._memory)
            """The library's pointer to the packed weights."""
        except MemoryError as error:
            raise MemoryError("the model's weights do not fit into memory") from error
        free_with(self, required_library().dragoman_let_go, self.handle)
        give_memory_back()


def _key(model: Model, control_ids: Sequence[int], is_quantised: bool) -> bytes | None:
    """What the packed weights of a stored model depend on."""
    if not isinstance(model.weights, StoredWeights):
        return None
    what = (model.weights.identity, model.config, [*control_ids], is_quantised)
    return sha256(repr((*what, model.shortlist is not None)).encode()).digest()


def _filled(
    allocate: Allocate, model: Model, control_ids: Sequence[int], is_quantised: bool
) -> Memory:
    """The directory of the tables, the packed weights, and the tables: all that networks read, the
    same with every instruction set."""
    read = tables_of(model.config, model.weights)
    shape = _shape(model, is_quantised, 0, read)
    end = DIRECTORY_BYTES + _packed_bytes(shape)
    memory = allocate(end + table_bytes(read))
    put_tables(read, memory, end)
    tables = tables_in(memory)
    del read
    supply = WeightSupply(packed_weights(model.config, model.weights, tables, control_ids))
    try:
        packed = _packed(shape, tables, memory, NextWeight(supply))
    except Exception:
        if supply.error is not None:
            raise supply.error from None
        raise
    required_library().dragoman_let_go(packed)
    return memory


def _packed_bytes(shape: _Shape) -> int:
    num_bytes = ctypes.c_int64()
    required_library().dragoman_packed_bytes(ctypes.byref(shape), ctypes.byref(num_bytes))
    return num_bytes.value


def _packed(
    shape: _Shape, tables: Tables, memory: Memory, supply: object = _PACKED_BEFORE
) -> ctypes.c_void_p:
    """The library's pointer to weights in memory, which are packed there first if there is a
    supply."""
    packed, addresses = ctypes.c_void_p(), _Tables(*map(address, tables))
    room = memory[DIRECTORY_BYTES:]
    required_library().dragoman_pack(
        *(ctypes.byref(shape), ctypes.byref(addresses), supply),
        *(address(room), len(room), ctypes.byref(packed)),
    )
    return packed


def _shape(model: Model, is_quantised: bool, kernels: int, tables: Tables) -> _Shape:
    config = model.config
    return _Shape(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_ff=config.d_ff,
        n_encoder_layers=config.n_encoder_layers,
        n_decoder_layers=config.n_decoder_layers,
        src_vocab_size=config.src_vocab_size,
        tgt_vocab_size=config.tgt_vocab_size,
        is_pre_norm=config.norm == "pre",
        has_embedding_norm=config.embedding_norm,
        activation=ACTIVATIONS[config.activation],
        is_quantised=is_quantised,
        max_positions=config.max_positions,
        has_half_tables=tables.source.dtype == np.float16,
        head_size=config.head_dim,
        is_attention_scaled=config.scale_attention,
        is_gated=config.gated,
        has_rms_norms=config.norm_kind == "rms",
        is_recurrent=config.autoregression == "ssru",
        has_shortlist=model.shortlist is not None,
        embedding_scale=config.embedding_scale,
        kernels=kernels,
    )
