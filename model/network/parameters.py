"""The shapes of a network's weights, and its tables of positions, which every backend shares.

Does not depend on PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from model.network.config import ModelConfig, Sinusoids

Shape = tuple[int, ...]
LAYER_EPSILON, RMS_EPSILON = 1e-5, 1e-6
"""What each kind of norm adds to the mean square."""


def weight_shapes(config: ModelConfig) -> dict[str, Shape]:
    """The shape of each weight of `model.network.transformer.Transformer` by name. A shared weight
    has only its first name."""
    return dict(_weight_shapes(config))


def num_weights(config: ModelConfig) -> int:
    """Of the whole network."""
    return sum(math.prod(shape) for shape in weight_shapes(config).values())


def _weight_shapes(config: ModelConfig) -> Iterator[tuple[str, Shape]]:
    width = config.d_model
    sides = {"src": config.src_vocab_size, "tgt": config.tgt_vocab_size}
    for side, size in sides.items():
        if side == "src" or not config.shares_inputs:
            yield f"{side}_embedding.tokens.weight", (size, width)
        if config.embedding_norm:
            yield from _norm(config, f"{side}_embedding.norm")
        if config.positions == "learned":
            yield f"{side}_embedding.learned.weight", (config.max_positions, width)
    for i in range(config.n_encoder_layers):
        yield from _layer(config, f"encoder.{i}", ("self_attention",))
    for i in range(config.n_decoder_layers):
        yield from _layer(config, f"decoder.{i}", ("self_attention", "memory_attention"))
    if config.positions == "buckets":
        for side in ("encoder", "decoder"):
            yield f"{side}_biases.weight", (config.distance_buckets, config.n_heads)
    if config.norm == "pre":
        yield from _norm(config, "encoder_norm")
        yield from _norm(config, "decoder_norm")
    if not config.shares_output:
        yield "output.weight", (config.tgt_vocab_size, width)
    if config.output_bias:
        yield "output.bias", (config.tgt_vocab_size,)


def _layer(
    config: ModelConfig, layer: str, attentions: tuple[str, ...]
) -> Iterator[tuple[str, Shape]]:
    width, inner, hidden = config.d_model, config.attention_width, config.d_ff
    is_recurrent = config.autoregression == "ssru" and layer.startswith("decoder")
    for attention in attentions:
        if is_recurrent and attention == "self_attention":
            for side in ("input", "forget"):
                yield from _linear(f"{layer}.{attention}.{side}_proj", width, width)
            continue
        for side in ("q", "k", "v"):
            yield from _linear(f"{layer}.{attention}.{side}_proj", inner, width)
        yield from _linear(f"{layer}.{attention}.out_proj", width, inner)
    yield from _linear(f"{layer}.feed_forward.expand", hidden, width)
    if config.gated:
        yield from _linear(f"{layer}.feed_forward.gate", hidden, width)
    yield from _linear(f"{layer}.feed_forward.contract", width, hidden)
    for sublayer in (*attentions, "feed_forward"):
        yield from _norm(config, f"{layer}.{sublayer}_residual.norm")


def _linear(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(config: ModelConfig, name: str) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (config.d_model,)
    if config.norm_kind == "layer":
        yield f"{name}.bias", (config.d_model,)


def sinusoids(
    n_positions: int, d_model: int, form: Sinusoids = "interleaved", first: int = 0
) -> NDArray[np.float32]:
    """Sinusoidal positions (section 3.5) first, first + 1, ... -> (n_positions, D).

    "interleaved": PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(pos / 10000^(2i/D)).
    "halves" puts the sines in the first D/2 dimensions and the cosines in the rest.
    "tensor2tensor" also uses halves, with the exponent i / (D/2 - 1), as in the authors' code and
    fairseq.
    """
    half = d_model // 2
    steps = max(half - 1, 1) if form == "tensor2tensor" else half
    positions = np.arange(first, first + n_positions, dtype=np.float64)
    angles = positions[:, None] / 10000.0 ** (np.arange(half, dtype=np.float64) / steps)
    if form == "interleaved":
        pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        return pairs.reshape(n_positions, -1).astype(np.float32)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


def alibi_slopes(n_heads: int) -> NDArray[np.float32]:
    """One slope per head (Press et al. 2022, section 3) -> (H,).

    For a power of two: 2^(-8/H), 2^(-16/H), ...; otherwise the slopes of the next lower power of
    two, then every second slope of the next higher one, as in the authors' code.
    """
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2.0 ** (-8.0 * (i + 1) / power) for i in range(power)]
    slopes += [2.0 ** (-4.0 * (2 * i + 1) / power) for i in range(n_heads - power)]
    return np.array(slopes, np.float32)
