"""The encoder-decoder Transformer: encode a source once, then decode it step by step.

`forward` (teacher-forced, all positions at once) is used in training and is the reference for
cached decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from model.network.config import ModelConfig
from model.network.layers import (
    KV,
    SSRU,
    DecoderLayer,
    DistanceBias,
    Embedding,
    EncoderLayer,
    MultiHeadAttention,
    StateUpdate,
    additive,
    make_norm,
    random_table,
)
from model.network.shortlist import Shortlist


class StepContext(Protocol):
    """The history one decoding step attends to; `model.backends.pytorch.cache` implements it."""

    positions: Tensor
    """(B,): the position of each row's new token."""

    def remember(self, layer: int, new: KV) -> KV:
        """Store new (B, H, 1, E) and return the history (B, H, K, E)."""

    def advance(self, layer: int, update: StateUpdate) -> Tensor:
        """Change the state of each row (B, 1, D) and return it."""

    def attend_memory(self, layer: int, attention: MultiHeadAttention, x: Tensor) -> Tensor:
        """Attend from x (B, 1, D) to the memory of each row's sentence -> (B, 1, D)."""

    def key_positions(self) -> Tensor:
        """(K,): the positions in the history that `remember` returns."""


class Transformer(nn.Module):
    """Vaswani et al. 2017, Figure 1, with the variants in `ModelConfig`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.shortlist: Shortlist | None = None
        """The tokens that the backends let a translation have; `forward` scores all."""
        src_tokens = random_table(config.src_vocab_size, config.d_model)
        tgt_tokens = src_tokens
        if not config.shares_inputs:
            tgt_tokens = random_table(config.tgt_vocab_size, config.d_model)
        self.src_embedding = Embedding(config, src_tokens)
        self.tgt_embedding = Embedding(config, tgt_tokens)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.encoder_norm = _final_norm(config)
        self.decoder_norm = _final_norm(config)
        self.output = nn.Linear(config.d_model, config.tgt_vocab_size, bias=config.output_bias)
        self.share_output()
        has_biases = config.positions in ("alibi", "buckets")
        self.encoder_biases = DistanceBias(config, is_causal=False) if has_biases else None
        self.decoder_biases = DistanceBias(config, is_causal=True) if has_biases else None

    @property
    def weights(self) -> dict[str, Tensor]:
        """Weights by name; a shared weight appears only under its first name."""
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    @property
    def device(self) -> torch.device:
        return self.src_embedding.tokens.weight.device

    def share_output(self) -> None:
        """Use the target embeddings as the output matrix if the configuration shares them."""
        if self.config.shares_output:
            self.output.weight = self.tgt_embedding.tokens.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Compute teacher-forced logits: src (B, S), tgt (B, T) from bos -> (B, T, V)."""
        return self.output(self.decode(tgt, self.encode(src), self.src_mask(src)))

    def src_mask(self, src: Tensor) -> Tensor:
        """src (B, S) -> (B, 1, 1, S): masks padding."""
        return (src != self.config.pad_id)[:, None, None, :]

    def encode(self, src: Tensor) -> Tensor:
        """src (B, S), right-padded -> memory (B, S, D)."""
        x, mask = self.embed_source(src)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def embed_source(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """src (B, S) -> the encoder's input (B, S, D) and its mask."""
        positions = torch.arange(src.size(1), device=src.device)[None]
        mask = _biased(self.encoder_biases, self.src_mask(src), positions, positions)
        return self.src_embedding(src, positions), mask

    def decode(self, tgt: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Decode all positions at once: tgt (B, T), memory (B, S, D) -> states (B, T, D)."""
        x, mask = self.embed_target(tgt)
        for layer, kv in zip(self.decoder, self.project_memory(memory), strict=True):
            x = layer(x, mask, kv, memory_mask)
        return self.decoder_norm(x)

    def embed_target(self, tgt: Tensor) -> tuple[Tensor, Tensor]:
        """tgt (B, T) -> the decoder's input (B, T, D) and its causal mask."""
        positions = torch.arange(tgt.size(1), device=tgt.device)[None]
        causal_mask = positions[0, :, None] >= positions[0, None, :]
        mask = _biased(self.decoder_biases, causal_mask[None, None], positions, positions)
        return self.tgt_embedding(tgt, positions), mask

    def project_memory(self, memory: Tensor) -> list[KV]:
        """memory (B, S, D) -> each decoder layer's keys and values, (B, H, S, E)."""
        return [layer.memory_attention.project_kv(memory) for layer in self.decoder_layers]

    def step_states(self, tokens: Tensor, context: StepContext) -> Tensor:
        """Extend every row by one token: tokens (B,) -> decoder states (B, D), without the output
        layer."""
        positions = context.positions[:, None]
        keys = context.key_positions()[None]
        x = self.tgt_embedding(tokens[:, None], positions)
        is_past = (keys <= positions)[:, None, None, :]
        mask = additive(_biased(self.decoder_biases, is_past, positions, keys), x.dtype)
        for i, layer in enumerate(self.decoder_layers):
            x = layer.with_attention(
                x, _attend_self(context, i, layer, mask), _attend_memory(context, i, layer)
            )
        return self.decoder_norm(x).squeeze(1)

    @property
    def encoder_layers(self) -> list[EncoderLayer]:
        """The encoder's layers, first to last."""
        return [layer for layer in self.encoder if isinstance(layer, EncoderLayer)]

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        """The decoder's layers, first to last."""
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]


def initialise(model: Transformer, scheme: Literal["xavier", "kaiming"]) -> None:
    """Initialise random weights for training.

    Matrices are Xavier uniform (Glorot and Bengio 2010); with "kaiming" the layer before the
    activation is Kaiming uniform (He et al. 2015). Embeddings have deviation D^-0.5, so that
    scaled by sqrt(D) they have unit variance.
    """
    for name, parameter in model.named_parameters():
        if "tokens" in name or "learned" in name:
            nn.init.normal_(parameter, std=model.config.d_model**-0.5)
        elif parameter.dim() < 2:
            continue
        elif scheme == "kaiming" and name.endswith("expand.weight"):
            nn.init.kaiming_uniform_(parameter, nonlinearity="relu")
        else:
            nn.init.xavier_uniform_(parameter)
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def _final_norm(config: ModelConfig) -> nn.Module:
    """The norm at the end of a pre-norm stack (Xiong et al. 2020)."""
    return make_norm(config) if config.norm == "pre" else nn.Identity()


def _biased(
    biases: DistanceBias | None, mask: Tensor, query_positions: Tensor, key_positions: Tensor
) -> Tensor:
    """The boolean mask, or a float bias that includes it."""
    if biases is None:
        return mask
    return biases(query_positions, key_positions).masked_fill(~mask, float("-inf"))


def _attend_self(
    context: StepContext, number: int, layer: DecoderLayer, mask: Tensor
) -> Callable[[Tensor], Tensor]:
    """A layer's first sublayer on one new position of each row, after the row's own history."""
    first = layer.self_attention
    if isinstance(first, SSRU):
        return lambda x: first.output(context.advance(number, first.update(x)))
    return lambda x: first(x, context.remember(number, first.project_kv(x)), mask)


def _attend_memory(
    context: StepContext, number: int, layer: DecoderLayer
) -> Callable[[Tensor], Tensor]:
    return lambda x: context.attend_memory(number, layer.memory_attention, x)
