"""ModelConfig accepts every architecture that can be built and explains every one that cannot."""

from __future__ import annotations

from typing import Any

import pytest

from model.network.config import ConfigError, ModelConfig

SIZES = {"src_vocab_size": 100, "tgt_vocab_size": 100}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"d_model": 0}, "d_model must be at least 1, got 0"),
        ({"d_model": 10, "n_heads": 4}, "d_model must be a multiple of n_heads, got 10 and 4"),
        ({"d_model": 9, "n_heads": 3}, "sinusoidal positions need an even d_model, got 9"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"positions": "rotary"}, r"positions must be one of .*'buckets'\], got 'rotary'"),
        ({"position_offset": -1}, "position_offset must be at least 0, got -1"),
        (
            {"position_offset": 2, "positions": "learned"},
            "position_offset needs sinusoidal positions, got learned",
        ),
        ({"tgt_vocab_size": 99}, "needs equal vocabularies, got 100 and 99"),
        ({"pad_id": 100}, "pad_id must be a target token, 0 to 99, got 100"),
        ({"d_model": 10**9}, "d_model must be at most 16384, got 1000000000"),
        ({"pad_id": 16**10_000}, "pad_id must be a target token, .* got a number of 40001 bits"),
        (
            {"max_positions": 65536, "d_model": 2048},
            "max_positions times d_model must be at most 67108864, got 65536 and 2048",
        ),
        ({"d_head": 4096}, "n_heads times d_head must be at most 16384, got 8 and 4096"),
        (
            {"longest_distance": 16},
            "longest_distance must be more than half of distance_buckets, got 16 and 32",
        ),
        ({"n_layers": 6}, r"unknown architecture option 'n_layers'; known: \['activation'"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ModelConfig.from_dict({**SIZES, **bad})
