"""The Transformer's building blocks: attention, feed-forward, positions, encoder and decoder layer.

Shape letters, used throughout `model/`:
B batch rows, S source length, T target length, Q / K query / key positions, D d_model,
H heads, E head_dim (mostly D / H), V vocabulary.
Masks are boolean; True means "may attend" (as in scaled_dot_product_attention).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.config import Activation, ModelConfig
from model.network.distances import bucket_of, fixed_biases
from model.network.parameters import LAYER_EPSILON, RMS_EPSILON, sinusoids

_FLOAT16_BOUND = torch.finfo(torch.float16).max - 1000
_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class KV(NamedTuple):
    """Projected keys and values, each (B, H, K, E)."""

    keys: Tensor
    values: Tensor


class MultiHeadAttention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2).

    The caller supplies keys and values, so one class serves the encoder, the cached decoder and
    attention to the memory.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, inner = config.d_model, config.attention_width
        self.n_heads, self.scale = config.n_heads, config.attention_scale
        self.q_proj = nn.Linear(width, inner)
        self.k_proj = nn.Linear(width, inner)
        self.v_proj = nn.Linear(width, inner)
        self.out_proj = nn.Linear(inner, width)

    def project_kv(self, x: Tensor) -> KV:
        """(B, K, D) -> keys and values, each (B, H, K, E)."""
        return KV(self._split_heads(self.k_proj(x)), self._split_heads(self.v_proj(x)))

    def forward(self, x: Tensor, kv: KV, mask: Tensor) -> Tensor:
        """Attend from x (B, Q, D) to kv -> (B, Q, D).

        mask broadcasts to (B, H, Q, K): boolean, or a float bias added to the scores.
        """
        return self.attend(self._split_heads(self.q_proj(x)), kv, mask)

    def attend(self, queries: Tensor, kv: KV, mask: Tensor) -> Tensor:
        """Attend from projected queries (B, H, Q, E); others as in `forward`."""
        context = F.scaled_dot_product_attention(
            queries, kv.keys, kv.values, attn_mask=mask, scale=self.scale
        )
        return self.out_proj(context.transpose(1, 2).flatten(2))

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """The attention (B, H, Q, K) that `forward` computes, as probabilities over the keys
        (B, H, K, E); x and mask as there."""
        q = self._split_heads(self.q_proj(x))
        scores = q @ keys.transpose(-1, -2) * self.scale
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, float("-inf"))
        else:
            scores = scores + mask
        return scores.softmax(-1)

    def _split_heads(self, x: Tensor) -> Tensor:
        """(B, K, H E) -> (B, H, K, E)."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class StateUpdate(NamedTuple):
    """A change of an SSRU's state to forget * state + added, each (B, T, D)."""

    forget: Tensor
    added: Tensor


class SSRU(nn.Module):
    """Simpler simple recurrent unit (Kim et al. 2019), in place of the decoder's self-attention.

    c_t = f_t * c_{t-1} + (1 - f_t) * (W x_t + b) with f_t = sigmoid(W_f x_t + b_f) and c_0 = 0; the
    output is max(c_t, 0).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.input_proj = nn.Linear(config.d_model, config.d_model)
        self.forget_proj = nn.Linear(config.d_model, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """All positions at once, as in training: (B, T, D) -> (B, T, D)."""
        update = self.update(x)
        state, states = torch.zeros_like(x[:, 0]), []
        for forget, added in zip(*(part.unbind(1) for part in update), strict=True):
            state = forget * state + added
            states.append(state)
        return self.output(torch.stack(states, 1))

    def update(self, x: Tensor) -> StateUpdate:
        """What each position of x (B, T, D) does to the state before it."""
        forget = self.forget_proj(x).sigmoid()
        return StateUpdate(forget, (1 - forget) * self.input_proj(x))

    def output(self, state: Tensor) -> Tensor:
        return F.relu(state)

    def weights(self, x: Tensor) -> Tensor:
        """How much of each earlier input the states of `forward` hold, (B, H, T, T): the mean over
        the dimensions of each of H equal parts. What lacks to 1 is c_0."""
        forget = self.forget_proj(x).sigmoid()
        held, rows = torch.zeros_like(forget), []
        for t in range(x.size(1)):
            held = held * forget[:, t, None]
            held[:, t] = 1 - forget[:, t]
            rows.append(held.unflatten(-1, (self.n_heads, -1)).mean(-1))
        return torch.stack(rows, 1).permute(0, 3, 1, 2)


class FeedForward(nn.Module):
    """Position-wise feed-forward network (section 3.3): D -> d_ff -> D. The configuration may gate
    the activation (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.gate = nn.Linear(config.d_model, config.d_ff) if config.gated else None
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.activation = _ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """(B, Q, D) -> (B, Q, D)."""
        hidden = self.activation(self.expand(x))
        return self.contract(hidden if self.gate is None else hidden * self.gate(x))


class Residual(nn.Module):
    """The residual connection around each sublayer, with layer norm and dropout.

    Post-norm is the paper's LayerNorm(x + Sublayer(x)) (section 3.1), with dropout on the
    sublayer's output (section 5.4); pre-norm is x + Sublayer(LayerNorm(x)) (Xiong et al. 2020).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.dropout = nn.Dropout(config.dropout)
        self.is_pre_norm = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """x (B, Q, D) -> (B, Q, D)."""
        if self.is_pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))

    def sublayer_input(self, x: Tensor) -> Tensor:
        """The input of the sublayer: x (B, Q, D), normalised if pre-norm."""
        return self.norm(x) if self.is_pre_norm else x


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (Figure 1, left)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, S, D), mask broadcasting to (B, H, S, S) -> (B, S, D)."""
        attend = self.self_attention
        return self.with_attention(x, lambda y: attend(y, attend.project_kv(y), mask))

    def with_attention(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """As `forward`, with self-attention computed by `attend`, (B, S, D) -> (B, S, D)."""
        x = self.self_attention_residual(x, attend)
        return _within_float16(self.feed_forward_residual(x, self.feed_forward))

    def self_weights(self, x: Tensor, mask: Tensor) -> Tensor:
        """The self-attention (B, H, S, S) of `forward`."""
        y = self.self_attention_residual.sublayer_input(x)
        return _self_weights(self.self_attention, y, mask)


class DecoderLayer(nn.Module):
    """Self-attention or an SSRU, attention to the memory, then feed-forward (Figure 1, right)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        own = MultiHeadAttention(config) if config.autoregression == "attention" else SSRU(config)
        self.self_attention: MultiHeadAttention | SSRU = own
        self.memory_attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.memory_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, mask: Tensor, memory: KV, memory_mask: Tensor) -> Tensor:
        """Run all target positions at once, as in training.

        x (B, T, D), mask broadcasting to (B, H, T, T), memory projected to (B, H, S, E),
        memory_mask (B, 1, 1, S) -> (B, T, D).
        """
        return self.with_attention(
            x,
            lambda y: self._attend_self(y, mask),
            lambda y: self.memory_attention(y, memory, memory_mask),
        )

    def self_weights(self, x: Tensor, mask: Tensor) -> Tensor:
        """The self-attention (B, H, T, T) of `forward`."""
        y, first = self.self_attention_residual.sublayer_input(x), self.self_attention
        return first.weights(y) if isinstance(first, SSRU) else _self_weights(first, y, mask)

    def memory_weights(self, x: Tensor, mask: Tensor, memory: KV, memory_mask: Tensor) -> Tensor:
        """The attention to the memory (B, H, T, S) of `forward`."""
        x = self.self_attention_residual(x, lambda y: self._attend_self(y, mask))
        queries = self.memory_attention_residual.sublayer_input(x)
        return self.memory_attention.weights(queries, memory.keys, memory_mask)

    def _attend_self(self, x: Tensor, mask: Tensor) -> Tensor:
        first = self.self_attention
        return first(x) if isinstance(first, SSRU) else first(x, first.project_kv(x), mask)

    def with_attention(
        self,
        x: Tensor,
        attend_self: Callable[[Tensor], Tensor],
        attend_memory: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """As `forward`, with the first two sublayers computed by these, (B, T, D) -> (B, T, D)."""
        x = self.self_attention_residual(x, attend_self)
        x = self.memory_attention_residual(x, attend_memory)
        return self.feed_forward_residual(x, self.feed_forward)


class Embedding(nn.Module):
    """Token embeddings plus absolute positions (sections 3.4, 3.5), with dropout on the sum.

    The configuration may add a layer norm on the sum. Tables are real tensors even under the meta
    device, so a model built there lacks only its parameters.
    """

    def __init__(self, config: ModelConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.scale = config.embedding_scale
        self.norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.learned: nn.Embedding | None = None
        if config.positions == "learned":
            self.learned = random_table(config.max_positions, config.d_model)
        if config.positions == "sinusoidal":
            numbers = sinusoids(
                config.max_positions, config.d_model, config.sinusoids, config.position_offset
            )
            table = torch.from_numpy(numbers)
        else:
            table = torch.empty(0, device="cpu")
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """ids (B, T), positions broadcasting to (B, T) -> (B, T, D)."""
        x = self.tokens(ids) * self.scale
        if self.learned is not None:
            x = x + self.learned(positions)
        elif self.table.numel():
            x = x + self.table[positions]
        return self.dropout(self.norm(x))


class DistanceBias(nn.Module):
    """A bias of the scores of self-attention by head and by the distance from query to key
    (`model.network.distances`)."""

    def __init__(self, config: ModelConfig, is_causal: bool) -> None:
        super().__init__()
        self._zero = config.max_positions - 1
        buckets = torch.from_numpy(bucket_of(config, is_causal))
        self.buckets: Tensor
        self.register_buffer("buckets", buckets, persistent=False)
        self.weight: Tensor
        if config.positions == "alibi":
            self.register_buffer("weight", torch.from_numpy(fixed_biases(config)), persistent=False)
        else:
            self.weight = nn.Parameter(torch.empty(config.distance_buckets, config.n_heads))

    def forward(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """(B, Q), (B, K) -> (B, H, Q, K)."""
        distances = key_positions[:, None, :] - query_positions[:, :, None]
        table = self.weight.t()[:, self.buckets]
        return table[:, distances + self._zero].transpose(0, 1)


def _within_float16(x: Tensor) -> Tensor:
    """Clamp numbers that overflowed in float16, as the transformers library does for encoders of
    BART, Pegasus and M2M-100: a layer norm makes NaN of infinity. Other types stay as they are."""
    return x.clamp(-_FLOAT16_BOUND, _FLOAT16_BOUND) if x.dtype == torch.float16 else x


def make_norm(config: ModelConfig) -> nn.Module:
    """A norm of the residual stream."""
    if config.norm_kind == "rms":
        return nn.RMSNorm(config.d_model, eps=RMS_EPSILON)
    return nn.LayerNorm(config.d_model, eps=LAYER_EPSILON)


def _self_weights(attention: MultiHeadAttention, x: Tensor, mask: Tensor) -> Tensor:
    return attention.weights(x, attention.project_kv(x).keys, mask)


def random_table(size: int, d_model: int) -> nn.Embedding:
    """Uniformly drawn embeddings (size, D). PyTorch's normal initialisation imports 70 MB of
    modules under the meta device."""
    bound = d_model**-0.5
    weight = torch.empty(size, d_model).uniform_(-bound, bound)
    return nn.Embedding.from_pretrained(weight, freeze=False)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as a bias of the scores: 0 where it is True, else -inf. PyTorch's attention makes one
    of a boolean mask in every layer."""
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, float("-inf"))
