"""The network in plain NumPy, for the attention of one translation.

Teacher-forced, float32, one sentence; weights are read when they are needed. Shape letters as in
`model.network.layers`, without the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.network.config import Activation, ModelConfig
from model.network.distances import bias_table
from model.network.parameters import LAYER_EPSILON, RMS_EPSILON, sinusoids

Floats = NDArray[np.float32]
_erf = np.frompyfunc(math.erf, 1, 1)
_ACTIVATIONS: dict[Activation, Callable[[Floats], Floats]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * (0.5 + 0.5 * _erf(x / math.sqrt(2.0)).astype(np.float32)),
    "gelu_tanh": lambda x: np.divide(
        x, 1.0 + np.exp(-math.sqrt(8.0 / math.pi) * (x + 0.044715 * x**3)), dtype=np.float32
    ),
    "silu": lambda x: np.divide(x, 1.0 + np.exp(-x), dtype=np.float32),
}


class AttentionArrays(NamedTuple):
    """The attention of every layer (L) and head: encoder (L, H, S, S), decoder (L, H, T, T) and
    memory (L, H, T, S)."""

    encoder: Floats
    decoder: Floats
    memory: Floats


def attention_maps(
    config: ModelConfig, weights: Mapping[str, Any], source: Sequence[int], target: Sequence[int]
) -> AttentionArrays:
    """All attention when `target`, from bos, is decoded from `source`. `weights`: arrays by name,
    of float16 or float32."""
    network = _Network(config, weights)
    x, bias, encoder = network.embed("src", source), network.bias("encoder", len(source)), []
    for i in range(config.n_encoder_layers):
        x, attention = network.attend(f"encoder.{i}.self_attention", x, x, bias)
        encoder.append(attention)
        x = network.feed_forward(f"encoder.{i}", x)
    memory = network.encoder_norm(x)
    x = network.embed("tgt", target)
    bias = np.where(np.tri(len(target), dtype=bool), network.bias("decoder", len(target)), -np.inf)
    own, other = [], []
    for i in range(config.n_decoder_layers):
        if config.autoregression == "ssru":
            x, attention = network.recur(f"decoder.{i}.self_attention", x)
        else:
            x, attention = network.attend(f"decoder.{i}.self_attention", x, x, bias)
        own.append(attention)
        x, attention = network.attend(f"decoder.{i}.memory_attention", x, memory, np.float32(0))
        other.append(attention)
        x = network.feed_forward(f"decoder.{i}", x)
    return AttentionArrays(np.stack(encoder), np.stack(own), np.stack(other))


class _Network:
    def __init__(self, config: ModelConfig, weights: Mapping[str, Any]) -> None:
        self._config, self._weights = config, weights

    def embed(self, side: str, ids: Sequence[int]) -> Floats:
        """Ids (T,) -> (T, D)."""
        config = self._config
        owner = "src" if config.shares_inputs else side
        x = self._weights[f"{owner}_embedding.tokens.weight"][list(ids)].astype(np.float32)
        x = x * config.embedding_scale
        if config.positions == "learned":
            x = x + self._weights[f"{side}_embedding.learned.weight"][: len(ids)]
        elif config.positions == "sinusoidal":
            numbers = (config.d_model, config.sinusoids, config.position_offset)
            x = x + sinusoids(len(ids), *numbers)
        return self._norm(f"{side}_embedding.norm", x) if config.embedding_norm else x

    def bias(self, side: str, length: int) -> Floats:
        """The bias of the scores of so many queries and keys (H, Q, K)."""
        learned = self._weights.get(f"{side}_biases.weight")
        table = bias_table(self._config, side == "decoder", learned)
        if table is None:
            return np.zeros((1, length, length), np.float32)
        distances = np.arange(length) - np.arange(length)[:, None]
        return table[:, distances + self._config.max_positions - 1].astype(np.float32)

    def attend(
        self, layer: str, x: Floats, memory: Floats, bias: Floats | np.float32
    ) -> tuple[Floats, Floats]:
        """A sublayer that attends from x (Q, D) to the memory (K, D), or to x if the memory is x
        -> its result, and its attention (H, Q, K)."""
        queries = self._enter(layer, x)
        keys = queries if memory is x else memory
        q, k, v = (
            self._linear(f"{layer}.{side}_proj", inputs)
            .reshape(len(inputs), self._config.n_heads, -1)
            .transpose(1, 0, 2)
            for side, inputs in (("q", queries), ("k", keys), ("v", keys))
        )
        scores = q @ k.transpose(0, 2, 1) * np.float32(self._config.attention_scale) + bias
        attention = np.exp(scores - scores.max(-1, keepdims=True))
        attention = (attention / attention.sum(-1, keepdims=True)).astype(np.float32)
        context = (attention @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self._leave(layer, x, self._linear(f"{layer}.out_proj", context)), attention

    def recur(self, layer: str, x: Floats) -> tuple[Floats, Floats]:
        """An SSRU on x (T, D) -> its result, and how much of each input its states hold (H, T, T),
        as `model.network.layers.SSRU.weights`."""
        inputs = self._enter(layer, x)
        forget = 1 / (1 + np.exp(-self._linear(f"{layer}.forget_proj", inputs)))
        held = np.zeros((len(x), *x.shape), np.float32)
        for t in range(len(x)):
            held[t] = forget[t] * held[t - 1] if t else 0
            held[t, t] = 1 - forget[t]
        states = (held * self._linear(f"{layer}.input_proj", inputs)).sum(1)
        shares = held.reshape(*held.shape[:2], self._config.n_heads, -1).mean(-1)
        return self._leave(layer, x, np.maximum(states, 0)), shares.transpose(2, 0, 1)

    def feed_forward(self, layer: str, x: Floats) -> Floats:
        name = f"{layer}.feed_forward"
        entered = self._enter(name, x)
        hidden = _ACTIVATIONS[self._config.activation](self._linear(f"{name}.expand", entered))
        if self._config.gated:
            hidden = hidden * self._linear(f"{name}.gate", entered)
        return self._leave(name, x, self._linear(f"{name}.contract", hidden))

    def encoder_norm(self, x: Floats) -> Floats:
        return self._norm("encoder_norm", x) if self._config.norm == "pre" else x

    def _enter(self, sublayer: str, x: Floats) -> Floats:
        return self._norm(f"{sublayer}_residual.norm", x) if self._config.norm == "pre" else x

    def _leave(self, sublayer: str, x: Floats, found: Floats) -> Floats:
        x = x + found
        return x if self._config.norm == "pre" else self._norm(f"{sublayer}_residual.norm", x)

    def _norm(self, name: str, x: Floats) -> Floats:
        gain = self._weights[f"{name}.weight"]
        if self._config.norm_kind == "rms":
            spread = np.sqrt((x**2).mean(-1, keepdims=True) + np.float32(RMS_EPSILON))
            return np.multiply(x / spread, gain, dtype=np.float32)
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + LAYER_EPSILON)
        normalised: Floats = centred / spread * gain + self._weights[f"{name}.bias"]
        return normalised

    def _linear(self, name: str, x: Floats) -> Floats:
        found: Floats = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return found
