"""ModelConfig accepts every architecture that can be built and explains every one that cannot."""

from __future__ import annotations

from typing import Any

import pytest

from model.network.config import ConfigError, ModelConfig

SIZES = {"src_vocab_size": 100, "tgt_vocab_size": 100}


def test_the_defaults_are_the_papers_base_model() -> None:
    config = ModelConfig(37_000, 37_000)
    sizes = (config.d_model, config.n_heads, config.d_ff, config.head_dim)
    layers = (config.n_encoder_layers, config.n_decoder_layers)
    assert (sizes, layers, config.dropout) == ((512, 8, 2048, 64), (6, 6), 0.1)
    assert (config.norm, config.positions, config.activation) == ("post", "sinusoidal", "relu")
    assert config.shared_embeddings == "all"
    assert config.scale_embeddings


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"d_model": 0}, "d_model must be at least 1, got 0"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"position_offset": -1}, "position_offset must be at least 0, got -1"),
        ({"pad_id": 100}, "pad_id must be a target token, 0 to 99, got 100"),
        ({"tgt_vocab_size": 10**20}, "tgt_vocab_size must be at most 2097152, got 1000000"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ModelConfig.from_dict({**SIZES, **bad})
