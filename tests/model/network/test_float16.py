"""Numbers that leave float16's range."""

from __future__ import annotations

import torch

from tests.model.network.reference import EOS, tiny_model


@torch.inference_mode()
def test_an_encoder_that_overflows_in_float16_goes_on_with_its_largest_numbers() -> None:
    """A layer norm makes NaN of infinity, and NaN spreads over the sentence."""
    model = tiny_model(norm="pre", n_encoder_layers=3).half()
    contract = model.encoder_layers[0].feed_forward.contract
    contract.bias[3] = 60_000.0
    model.encoder_layers[1].feed_forward.contract.bias[3] = 60_000.0
    encoded = model.encode(torch.tensor([[5, 7, 9, EOS]]))
    assert encoded.isfinite().all()
    assert not model.float().encode(torch.tensor([[5, 7, 9, EOS]])).isnan().any()
