"""A model's weights as our own CPU code computes with them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from model.config import Activation, ModelConfig
from model.native.library import NextWeight, address, free_with, load_library
from model.native.weights import WeightSupply, packed_weights, tables_of
from model.network import Model

_ACTIVATIONS: dict[Activation, int] = {"relu": 0, "gelu": 1, "silu": 2}
_INTEGERS = (
    *("d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "src_vocab_size"),
    *("tgt_vocab_size", "is_pre_norm", "activation", "is_quantised"),
)


class _Shape(ctypes.Structure):
    """`Shape` of weights.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in _INTEGERS),
        ("embedding_scale", ctypes.c_float),
        ("kernels", ctypes.c_int32),
    )


class PackedModel:
    """A packed copy of a model's weights: bytes if `is_quantised`, else float32.

    It is only read, so that any number of networks compute with it, each in a thread of its own.
    """

    def __init__(
        self, model: Model, control_ids: Sequence[int], is_quantised: bool, kernels: int = 0
    ) -> None:
        """`kernels`: which of `kernel_names` computes. Raises MemoryError if the copy does not
        fit."""
        library = load_library()
        if library is None:
            raise RuntimeError("model/native was not compiled")
        self.config, self.device = model.config, model.device
        self._tables = tables_of(model.config, model.weights)
        tables = (ctypes.c_void_p * len(self._tables))(*map(address, self._tables))
        weights = packed_weights(model.config, model.weights, self._tables, control_ids)
        supply = WeightSupply(weights)
        shape = _shape(model.config, is_quantised, kernels)
        self.handle = library.dragoman_pack(ctypes.byref(shape), tables, NextWeight(supply))
        """The compiled library's name for it."""
        free_with(self, library.dragoman_let_go, self.handle)
        if supply.error is not None:
            raise supply.error
        if self.handle is None:
            raise MemoryError("the model's weights do not fit into memory")


def _shape(config: ModelConfig, is_quantised: bool, kernels: int) -> _Shape:
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
        kernels=kernels,
    )
