"""The bias of the scores of self-attention: a table by head and by the distance from query to key.

Distances -(P - 1) to P - 1 (P max_positions) share the values of buckets. Does not depend on
PyTorch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from model.network.config import ModelConfig
from model.network.parameters import alibi_slopes

Floats = NDArray[np.float32]
Buckets = NDArray[np.int64]


def bias_table(config: ModelConfig, is_causal: bool, learned: Floats | None) -> Floats | None:
    """The bias at each distance, the position of the key less that of the query, from -(P - 1) on
    -> (H, 2 P - 1); None if the network has none. `learned`: the values of its buckets, if it
    learned them."""
    biases = fixed_biases(config) if config.positions == "alibi" else learned
    if biases is None:
        return None
    return np.ascontiguousarray(biases.T[:, bucket_of(config, is_causal)])


def bucket_of(config: ModelConfig, is_causal: bool) -> Buckets:
    """The bucket of each distance from -(P - 1) on -> (2 P - 1,).

    ALiBi has one for each absolute distance: Press et al. 2022 define it for the decoder. T5's
    encoder has half of its buckets for keys before the query, and half for those after it.
    """
    distances = np.arange(1 - config.max_positions, config.max_positions)
    if config.positions == "alibi":
        return np.abs(distances)
    if is_causal:
        return _shared(np.maximum(-distances, 0), config.distance_buckets, config.longest_distance)
    half = config.distance_buckets // 2
    return _shared(np.abs(distances), half, config.longest_distance) + half * (distances > 0)


def _shared(distances: Buckets, count: int, longest: int) -> Buckets:
    """The bucket, one of `count`, of each distance from 0 on (Raffel et al. 2020, section 2.1): the
    shorter half has a bucket of its own for each, the others are wider the farther they are.

    In float32, as the authors' code: whole logarithms are cut off after rounding."""
    exact = count // 2
    ratios = np.log(np.maximum(distances, 1).astype(np.float32) / np.float32(exact))
    steps = ratios / np.float32(math.log(longest / exact)) * np.float32(count - exact)
    far = np.minimum(exact + steps.astype(np.int64), count - 1)
    return np.where(distances < exact, distances, far)


def fixed_biases(config: ModelConfig) -> Floats:
    """ALiBi's bias of each bucket and head, all <= 0 -> (P, H)."""
    distances = np.arange(config.max_positions, dtype=np.float32)
    return -alibi_slopes(config.n_heads) * distances[:, None]
