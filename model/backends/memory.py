"""Memory that runners need, and memory that is free."""

from __future__ import annotations

import math

import psutil
import torch

from model.backends.control_groups import free_in_control_groups
from model.decoding.network_interface import Capacity, Precision
from model.network.config import ModelConfig
from model.network.transformer import weight_shapes

_HYPOTHESIS_TOKEN_BYTES = 12  # an int64 id and a float32 log-probability
_LOGITS_COPIES = 4
"""Logits of a step in float32, and what masks, sums and sorts of them hold at the same time."""


def full_bytes(config: ModelConfig, capacity: Capacity, max_beam: int, precision: Precision) -> int:
    """Bytes of all caches and hypotheses when every slot and row is full."""
    positions = (
        capacity.max_rows * capacity.max_target_tokens
        + capacity.max_slots * capacity.max_source_tokens
    )
    keys_and_values = 2 * config.n_decoder_layers * config.d_model * positions
    hypotheses = (
        2 * capacity.max_slots * max_beam * capacity.max_target_tokens
    )  # live and finished ones
    return keys_and_values * _bytes_of(precision) + hypotheses * _HYPOTHESIS_TOKEN_BYTES


def network_bytes(config: ModelConfig, capacity: Capacity, precision: Precision) -> int:
    """Bytes of the weights on a GPU, and of a full step's logits."""
    weights = sum(math.prod(shape) for shape in weight_shapes(config).values())
    logits = _LOGITS_COPIES * capacity.max_rows * config.tgt_vocab_size * 4
    return weights * _bytes_of(precision) + logits


def free_bytes(device: str) -> int:
    """Free bytes on the device, within the limits of containers."""
    if device.startswith("cuda"):
        free, _ = torch.cuda.mem_get_info(device)
        return free
    return min([psutil.virtual_memory().available, *free_in_control_groups()])


def _bytes_of(precision: Precision) -> int:
    return 2 if precision in ("float16", "bfloat16") else 4
