"""Memory that runners need, and memory that is free.

The estimates of a GPU's tensors are held to the tensors themselves by a test; what fragmentation,
recordings and libraries take besides is for the caller to keep free.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable

import numpy as np
import psutil
from numpy.typing import NDArray

from model.backends.control_groups import free_in_control_groups
from model.decoding.decoder import Capacity, Precision
from model.network.config import ModelConfig
from model.network.parameters import num_weights, weight_shapes

Memory = NDArray[np.uint8]
Allocate = Callable[[int], Memory]
"""Gives so many zeros, from the beginning of a cache line on."""
LINE_BYTES = 64
"""Of a cache line."""
_HYPOTHESIS_BYTES = 24
"""Of a token of each live hypothesis of a slot: an id and a log-probability, and the same of a
finished one."""
_POSITION_BYTES = 8
"""Of a position of each slot: the forced prefix."""
_LOGITS_COPIES = 3
"""Float32 logits of all rows that a step holds at the same time."""
_SAMPLED_COPIES = 9
"""Logits of rows that sample, at most one a slot: sorted, masked, summed, with noise."""
_REORDERED_LOGITS = 4
"""Logits, and what takes as much as they, that a step holds while it reorders the caches."""
_NATIVE_LOGITS_COPIES = 3
_INT8_BYTES = 1.1
"""Of a weight, with the scales of its block."""
_ENCODED_TOKENS = 8192
"""Padded source tokens that are encoded at once, at most."""


def full_bytes(config: ModelConfig, capacity: Capacity, max_beam: int, precision: Precision) -> int:
    """Bytes of all caches and searches when every slot and row is full."""
    memory = 2 * config.attention_width * capacity.max_slots * capacity.max_source_tokens
    kept = config.n_decoder_layers * (_history(config, capacity) + memory)
    searches = capacity.max_slots * capacity.max_target_tokens
    each = _HYPOTHESIS_BYTES * max_beam + _POSITION_BYTES
    return kept * _bytes_of(precision) + searches * each


def weight_bytes(config: ModelConfig, precision: Precision) -> int:
    """Bytes of the weights as PyTorch holds them."""
    return num_weights(config) * _bytes_of(precision)


def packed_bytes(config: ModelConfig, precision: Precision) -> int:
    """Bytes of the weights of the native backend while it packs them, at most: the packed
    matrices, the tables of embeddings in float32, and the two weights that are being packed."""
    shapes = weight_shapes(config)
    tables = {name: shape for name, shape in shapes.items() if "embedding" in name}
    num_packed = _num_weights(shapes) - _num_weights(tables)
    if "output.weight" not in shapes:
        num_packed += config.tgt_vocab_size * config.d_model
    largest = max(math.prod(shape) for shape in shapes.values())
    size = _INT8_BYTES if precision == "int8" else 4
    return int(num_packed * size) + 4 * (_num_weights(tables) + 2 * largest)


def step_bytes(config: ModelConfig, capacity: Capacity, precision: Precision) -> int:
    """Bytes that PyTorch needs for a moment, in a step of all rows or while it encodes."""
    logits = 4 * capacity.max_rows * config.tgt_vocab_size
    size = _bytes_of(precision)
    one_store = config.n_decoder_layers * _history(config, capacity) // 2 * size
    width, hidden = config.attention_width, (1 + config.gated) * config.d_ff
    a_token = 2 * config.n_decoder_layers * width + config.d_model + 3 * width + hidden
    return max(
        _LOGITS_COPIES * logits
        + 4 * _SAMPLED_COPIES * config.tgt_vocab_size * min(capacity.max_slots, capacity.max_rows),
        one_store + _REORDERED_LOGITS * logits,
        _ENCODED_TOKENS * a_token * size,
    )


def native_step_bytes(config: ModelConfig, capacity: Capacity) -> int:
    """Bytes that the native backend needs for a moment in a step of all rows."""
    return _NATIVE_LOGITS_COPIES * 4 * capacity.max_rows * config.tgt_vocab_size


def free_bytes(device: str, gpu_share: float = 1.0) -> int:
    """Free bytes on the device, within the limits of containers; of a GPU at most `gpu_share` of
    all its bytes."""
    if device.startswith("cuda"):
        from model.backends.pytorch.devices import free_and_total_bytes

        free, total = free_and_total_bytes(device)
        return min(free, int(gpu_share * total))
    return min([psutil.virtual_memory().available, *free_in_control_groups()])


def own_memory(num_bytes: int) -> Memory:
    """Allocate for this process alone. Raises MemoryError."""
    memory = np.zeros(num_bytes + LINE_BYTES, np.uint8)
    start = -memory.ctypes.data % LINE_BYTES
    return memory[start : start + num_bytes]


def give_memory_back() -> None:
    """Give freed memory to the system, which the C library of Linux keeps otherwise."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _history(config: ModelConfig, capacity: Capacity) -> int:
    """The numbers that one layer keeps of all rows: two states of an SSRU, or keys and values."""
    if config.autoregression == "ssru":
        return 2 * config.d_model * capacity.max_rows
    return 2 * config.attention_width * capacity.max_rows * capacity.max_target_tokens


def _num_weights(shapes: dict[str, tuple[int, ...]]) -> int:
    return sum(math.prod(shape) for shape in shapes.values())


def _bytes_of(precision: Precision) -> int:
    return 2 if precision in ("float16", "bfloat16") else 4
