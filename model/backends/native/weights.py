"""A model's weights as weights.cpp reads them: one after the other, in float32, and the tables of
embeddings, which it reads in float16 if they are stored so.

Each weight is loaded when it is packed and may be freed afterwards, so memory never holds the
whole model in addition to its packed copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.backends.native.library import address, widened
from model.network.config import ModelConfig
from model.network.distances import bias_table
from model.network.parameters import sinusoids

_SOURCE_TOKENS, _TARGET_TOKENS = "src_embedding.tokens.weight", "tgt_embedding.tokens.weight"
Weights = Mapping[str, Any]
"""Arrays, or tensors on the CPU, by name."""
Floats = NDArray[np.float32]
Halves = NDArray[np.float16]


class WeightError(ValueError):
    """A weight is missing or does not fit the architecture; the message names it."""


class Tables(NamedTuple):
    """`Tables` of weights.h, read without a copy: tokens (V, D), positions (P, D), biases of the
    scores by distance (H, 2 P - 1)."""

    source: Floats | Halves
    source_positions: Floats | None
    target: Floats | Halves
    target_positions: Floats | None
    source_biases: Floats | None
    target_biases: Floats | None


def tables_of(config: ModelConfig, weights: Weights) -> Tables:
    """The tables of a model; shared embeddings remain one tensor."""
    width = config.d_model
    stored = [_found(weights, _SOURCE_TOKENS, config.src_vocab_size, width)]
    if not config.shares_inputs:
        stored.append(_found(weights, _TARGET_TOKENS, config.tgt_vocab_size, width))
    tokens: list[Floats | Halves] = [np.ascontiguousarray(table) for table in stored]
    if any(table.dtype != np.float16 for table in tokens):
        tokens = [_as_float32(table) for table in tokens]
    positions: tuple[Floats | None, Floats | None] = (None, None)
    if config.positions == "sinusoidal":
        table = sinusoids(config.max_positions, width, config.sinusoids, config.position_offset)
        positions = (table, table)
    elif config.positions == "learned":
        size = config.max_positions
        positions = (
            _read(weights, "src_embedding.learned.weight", size, width),
            _read(weights, "tgt_embedding.learned.weight", size, width),
        )
    biases = [_biases(config, weights, side) for side in ("encoder", "decoder")]
    return Tables(tokens[0], positions[0], tokens[-1], positions[1], *biases)


def _biases(config: ModelConfig, weights: Weights, side: str) -> Floats | None:
    learned = None
    if config.positions == "buckets":
        shape = (config.distance_buckets, config.n_heads)
        learned = _read(weights, f"{side}_biases.weight", *shape)
    return bias_table(config, side == "decoder", learned)


class WeightSupply:
    """The callback that gives the compiled network the address of its next weight (rows, columns).

    It keeps the last two weights alive. On a failure it sets `error` and returns None.
    """

    def __init__(self, weights: Iterator[Floats]) -> None:
        self._weights = weights
        self._held: deque[Floats] = deque(maxlen=2)
        self.error: BaseException | None = None

    def __call__(self, rows: int, columns: int) -> int | None:
        try:
            return address(self._next(rows, columns))
        except BaseException as error:  # no exception, not even an interrupt, may reach C++
            self.error = error
            return None

    def _next(self, rows: int, columns: int) -> Floats:
        weight = next(self._weights, None)
        size = 0 if weight is None else weight.size
        if weight is None or size != rows * columns:
            raise WeightError(f"a weight of {rows} x {columns} numbers is packed next, got {size}")
        self._held.append(weight)
        return weight


def packed_weights(
    config: ModelConfig, weights: Weights, tables: Tables, control_ids: Sequence[int]
) -> Iterator[Floats]:
    """Weights in weights.cpp's packing order. Raises WeightError, or any error of `weights`."""
    stack = _Stack(config, weights)
    if config.embedding_norm:
        yield from stack.norm("src_embedding.norm")
        yield from stack.norm("tgt_embedding.norm")
    for i in range(config.n_encoder_layers):
        yield from stack.encoder_layer(f"encoder.{i}")
    if config.norm == "pre":
        yield from stack.norm("encoder_norm")
    for i in range(config.n_decoder_layers):
        yield from stack.decoder_layer(f"decoder.{i}")
    if config.norm == "pre":
        yield from stack.norm("decoder_norm")
    if config.shares_output:
        yield _as_float32(tables.target)
    else:
        yield _read(weights, "output.weight", config.tgt_vocab_size, config.d_model)
    yield _output_bias(config, weights, control_ids)


class _Stack:
    """Reads layers, each as weight and bias."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        self._config, self._weights = config, weights
        self._width, self._inner, self._hidden = config.d_model, config.attention_width, config.d_ff
        self._is_recurrent = config.autoregression == "ssru"

    def encoder_layer(self, layer: str) -> Iterator[Floats]:
        yield from self.norm(f"{layer}.self_attention_residual.norm")
        yield from self._self_attention(f"{layer}.self_attention")
        yield from self._feed_forward(layer)

    def decoder_layer(self, layer: str) -> Iterator[Floats]:
        memory = f"{layer}.memory_attention"
        yield from self.norm(f"{layer}.self_attention_residual.norm")
        if self._is_recurrent:
            gates = [f"{layer}.self_attention.{side}_proj" for side in ("input", "forget")]
            yield from self._joined(gates, self._width, self._width)
        else:
            yield from self._self_attention(f"{layer}.self_attention")
        yield from self.norm(f"{layer}.memory_attention_residual.norm")
        yield from self._projections(f"{memory}.q_proj")
        yield from self._projections(f"{memory}.k_proj", f"{memory}.v_proj")
        yield from self._joined([f"{memory}.out_proj"], self._width, self._inner)
        yield from self._feed_forward(layer)

    def norm(self, name: str) -> Iterator[Floats]:
        for kind in ("weight", "bias")[: 1 if self._config.norm_kind == "rms" else 2]:
            yield _read(self._weights, f"{name}.{kind}", self._width)

    def _feed_forward(self, layer: str) -> Iterator[Floats]:
        yield from self.norm(f"{layer}.feed_forward_residual.norm")
        yield from self._joined([f"{layer}.feed_forward.expand"], self._hidden, self._width)
        if self._config.gated:
            yield from self._joined([f"{layer}.feed_forward.gate"], self._hidden, self._width)
        yield from self._joined([f"{layer}.feed_forward.contract"], self._width, self._hidden)

    def _self_attention(self, attention: str) -> Iterator[Floats]:
        yield from self._projections(*(f"{attention}.{side}_proj" for side in "qkv"))
        yield from self._joined([f"{attention}.out_proj"], self._width, self._inner)

    def _projections(self, *layers: str) -> Iterator[Floats]:
        yield from self._joined(layers, self._inner, self._width)

    def _joined(self, layers: Sequence[str], outputs: int, inputs: int) -> Iterator[Floats]:
        """Join layers that share an input into one."""
        for kind, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
            parts = [_read(self._weights, f"{layer}.{kind}", *shape) for layer in layers]
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)


def _output_bias(config: ModelConfig, weights: Weights, control_ids: Sequence[int]) -> Floats:
    """The output bias, -inf for control ids so that they are never chosen."""
    bias = np.zeros(config.tgt_vocab_size, np.float32)
    if config.output_bias:
        bias += _read(weights, "output.bias", config.tgt_vocab_size)
    bias[list(control_ids)] = float("-inf")
    return bias


def _read(weights: Weights, name: str, *shape: int) -> Floats:
    """One weight in float32. Raises WeightError."""
    return _as_float32(_found(weights, name, *shape))


def _as_float32(weight: NDArray[np.floating[Any]]) -> Floats:
    if weight.dtype == np.float16:
        return widened(weight)
    return np.ascontiguousarray(weight, np.float32)


def _found(weights: Weights, name: str, *shape: int) -> NDArray[np.floating[Any]]:
    """One weight as it is. Raises WeightError."""
    try:
        weight = np.asarray(weights[name])
    except KeyError as error:
        raise WeightError(f"the model lacks the weight {name}") from error
    if weight.shape != shape:
        raise WeightError(f"the weight {name} has shape {weight.shape}, expected {shape}")
    if not np.issubdtype(weight.dtype, np.floating):
        raise WeightError(f"the weight {name} holds {weight.dtype}, expected floating point")
    return weight
