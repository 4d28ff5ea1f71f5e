"""The plain network attends as the reference does."""

from __future__ import annotations

import numpy as np
import pytest

from model.network import attention_maps, plain
from tests.model.network.reference import BOS, EOS, tiny_model


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"norm": "pre", "activation": "gelu", "d_model": 64, "n_heads": 1},
        {"positions": "alibi", "activation": "silu", "n_decoder_layers": 3},
        {"positions": "learned", "shared_embeddings": "none", "d_model": 80, "n_heads": 5},
        {"embedding_norm": True, "sinusoids": "tensor2tensor", "position_offset": 2},
    ],
)
def test_every_variant_attends_as_in_pytorch(variant: dict[str, object]) -> None:
    model = tiny_model(**variant)  # type: ignore[arg-type]
    source, target = [5, 7, 9, 4, EOS], [BOS, 6, 8, 10, 12, 11, 5]
    weights = {name: weight.numpy() for name, weight in model.weights.items()}
    found = plain.attention_maps(model.config, weights, source, target)
    expected = attention_maps.attention_maps(model, source, target)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-6)
