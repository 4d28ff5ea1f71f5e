"""The bias of the scores of self-attention: a table by head and by the distance from query to key.

Distances -(P - 1) to P - 1 (P max_positions) share the values of buckets. Does not depend on
PyTorch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model.network.config import ModelConfig
from model.network.parameters import alibi_slopes

Floats = NDArray[np.float32]


def bias_table(config: ModelConfig) -> Floats | None:
    """The bias at each distance, the position of the key less that of the query, from -(P - 1) on
    -> (H, 2 P - 1); None if the network has none."""
    if config.positions != "alibi":
        return None
    return np.ascontiguousarray(fixed_biases(config).T[:, bucket_of(config)])


def bucket_of(config: ModelConfig) -> NDArray[np.int64]:
    """The bucket of each distance from -(P - 1) on -> (2 P - 1,).

    ALiBi has one for each absolute distance: Press et al. 2022 define it for the decoder.
    """
    return np.abs(np.arange(1 - config.max_positions, config.max_positions))


def fixed_biases(config: ModelConfig) -> Floats:
    """ALiBi's bias of each bucket and head, all <= 0 -> (P, H)."""
    distances = np.arange(config.max_positions, dtype=np.float32)
    return -alibi_slopes(config.n_heads) * distances[:, None]
