"""The network against torch.nn.Transformer, the plain one and the papers' formulas, and what must
hold for every variant of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.network import attention_maps, numpy_network
from model.network.config import ModelConfig
from model.network.distances import bucket_of
from model.network.layers import FeedForward, MultiHeadAttention, Residual
from model.network.parameters import alibi_slopes, sinusoids
from model.network.transformer import Transformer
from tests.model.network.reference import BOS, EOS, VARIANTS, tiny_model

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def random_ids(n_rows: int, length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, 13, (n_rows, length), generator=generator)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())


def copy_layer(theirs: Any, feed_forward: FeedForward, residuals: list[Residual]) -> None:
    theirs.linear1.load_state_dict(feed_forward.expand.state_dict())
    theirs.linear2.load_state_dict(feed_forward.contract.state_dict())
    for norm, residual in zip((theirs.norm1, theirs.norm2), residuals[:2], strict=True):
        norm.load_state_dict(residual.norm.state_dict())


@torch.no_grad()
def torch_states(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """The decoder states that torch.nn's own layers compute with this model's weights."""
    config = model.config
    shape: dict[str, Any] = {
        "d_model": config.d_model,
        "nhead": config.n_heads,
        "dim_feedforward": config.d_ff,
        "dropout": 0.0,
        "activation": config.activation,
        "batch_first": True,
        "norm_first": config.norm == "pre",
    }
    hidden, future = src == config.pad_id, torch.ones(tgt.size(1), tgt.size(1)).triu(1).bool()
    memory = model.src_embedding(src, torch.arange(src.size(1))[None])
    for layer in model.encoder:
        encoder = nn.TransformerEncoderLayer(**shape)
        copy_attention(encoder.self_attn, layer.self_attention)
        residuals = [layer.self_attention_residual, layer.feed_forward_residual]
        copy_layer(encoder, layer.feed_forward, residuals)
        memory = encoder(memory, src_key_padding_mask=hidden)
    memory = model.encoder_norm(memory)
    x = model.tgt_embedding(tgt, torch.arange(tgt.size(1))[None])
    for layer in model.decoder:
        decoder = nn.TransformerDecoderLayer(**shape)
        copy_attention(decoder.self_attn, layer.self_attention)
        copy_attention(decoder.multihead_attn, layer.memory_attention)
        residuals = [layer.self_attention_residual, layer.memory_attention_residual]
        copy_layer(decoder, layer.feed_forward, residuals)
        decoder.norm3.load_state_dict(layer.feed_forward_residual.norm.state_dict())
        x = decoder(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
    return model.decoder_norm(x)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_network_equals_torchs_own_with_the_same_weights(norm: str, activation: str) -> None:
    """Norms and biases are random too."""
    model = tiny_model(norm=norm, activation=activation)
    for name, parameter in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            parameter.detach().add_(torch.randn_like(parameter) * 0.1)
    src, tgt = random_ids(3, 9), random_ids(3, 7, seed=2)
    src[1, 5:] = src[2, 1:] = model.config.pad_id
    with torch.no_grad():
        states = model.decode(tgt, model.encode(src), model.src_mask(src))
    torch.testing.assert_close(states, torch_states(model, src, tgt), atol=1e-5, rtol=0)


@every_variant
def test_source_padding_changes_nothing(variant: dict[str, Any]) -> None:
    model = tiny_model(**variant)
    src, tgt = random_ids(2, 6), random_ids(2, 5, seed=2)
    padded = nn.functional.pad(src, (0, 4), value=model.config.pad_id)
    torch.testing.assert_close(model.encode(padded)[:, :6], model.encode(src))
    torch.testing.assert_close(model(padded, tgt), model(src, tgt))


@every_variant
def test_later_target_tokens_do_not_change_earlier_logits(variant: dict[str, Any]) -> None:
    model = tiny_model(**variant)
    src, tgt = random_ids(2, 6), random_ids(2, 8, seed=2)
    changed = tgt.clone()
    changed[:, 5:] = random_ids(2, 3, seed=3)
    before, after = model(src, tgt), model(src, changed)
    torch.testing.assert_close(after[:, :5], before[:, :5])
    assert not torch.allclose(after[:, 5], before[:, 5])


@pytest.mark.parametrize("d_model", [4, 6, 16])
def test_sinusoids_follow_section_3_5(d_model: int) -> None:
    """Those of tensor2tensor, the sines first, reach the wavelength of 10,000."""
    table, other = sinusoids(50, d_model), sinusoids(50, d_model, "tensor2tensor")
    half = d_model // 2
    for position in (0, 1, 7, 49):
        for i in range(half):
            angle = position / 10_000 ** (2 * i / d_model)
            found = table[position, 2 * i : 2 * i + 2].tolist()
            assert found == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)
            angle = position / 10_000 ** (i / (half - 1))
            found = other[position, [i, half + i]].tolist()
            assert found == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)


def press_slopes(n_heads: int) -> list[float]:
    """The slopes as the code of Press et al. 2022 gives them, recursion included."""
    if math.log2(n_heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n_heads) - 3)))
        return [start * start**i for i in range(n_heads)]
    closest = 2 ** math.floor(math.log2(n_heads))
    return press_slopes(closest) + press_slopes(2 * closest)[0::2][: n_heads - closest]


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 12, 16, 20])
def test_alibi_slopes_are_those_of_the_papers_code(n_heads: int) -> None:
    assert alibi_slopes(n_heads).tolist() == pytest.approx(press_slopes(n_heads))


@pytest.mark.parametrize(("count", "longest"), [(32, 128), (8, 12), (9, 20), (64, 100), (4, 3)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_distances_have_the_buckets_of_t5(count: int, longest: int, is_causal: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    options = {"positions": "buckets", "distance_buckets": count, "longest_distance": longest}
    config = ModelConfig.from_dict(
        {**options, "src_vocab_size": 9, "tgt_vocab_size": 9, "max_positions": 700}
    )
    distances = torch.arange(-699, 700)
    expected = T5Attention._relative_position_bucket(distances, not is_causal, count, longest)
    assert bucket_of(config, is_causal).tolist() == expected.tolist()


@every_variant
def test_every_variant_attends_as_in_pytorch(variant: dict[str, Any]) -> None:
    """From weights in float16, as checkpoints have them."""
    model = tiny_model(**variant)
    source, target = [5, 7, 9, 4, EOS], [BOS, 6, 8, 10, 12, 11, 5]
    halves = {name: weight.half() for name, weight in model.weights.items()}
    model.load_state_dict(halves, strict=False)
    weights = {name: weight.numpy() for name, weight in halves.items()}
    found = numpy_network.attention_maps(model.config, weights, source, target)
    expected = attention_maps.attention_maps(model, source, target)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)


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
