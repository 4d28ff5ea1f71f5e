"""The attention of a teacher-forced pass, as probabilities.

Shape letters as in `model.network.layers`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.network.config import AttentionHead
from model.network.layers import KV
from model.network.transformer import Transformer


def memory_attention(
    model: Transformer,
    tgt: Tensor,
    memory: Sequence[KV],
    memory_mask: Tensor,
    heads: Collection[AttentionHead],
) -> Tensor:
    """The mean attention of `heads` to the memory: tgt (B, T) from bos, each layer's projected
    memory (B, H, S, E) -> (B, T, S). Layers above the highest one of `heads` are not computed."""
    x, mask = model.embed_target(tgt)
    highest = max(layer for layer, _ in heads)
    found = []
    for i, (layer, kv) in enumerate(zip(model.decoder_layers, memory, strict=True)):
        if chosen := [head for owner, head in heads if owner == i]:
            found.append(layer.memory_weights(x, mask, kv, memory_mask)[:, chosen])
        if i == highest:
            break
        x = layer(x, mask, kv, memory_mask)
    return torch.cat(found, 1).mean(1)


class AttentionMaps(NamedTuple):
    """The attention of every layer (L) and head: encoder (L, H, S, S), decoder (L, H, T, T) and
    memory (L, H, T, S)."""

    encoder: Tensor
    decoder: Tensor
    memory: Tensor


@torch.inference_mode()
def attention_maps(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> AttentionMaps:
    """All attention when `target`, from bos, is decoded from `source`, by the reference network."""
    src = torch.tensor([source], device=model.device)
    tgt = torch.tensor([target], device=model.device)
    encoder, decoder, memory = [], [], []
    x, mask = model.embed_source(src)
    for layer in model.encoder_layers:
        encoder.append(layer.self_weights(x, mask)[0])
        x = layer(x, mask)
    projected, memory_mask = model.project_memory(model.encoder_norm(x)), model.src_mask(src)
    x, mask = model.embed_target(tgt)
    for decoder_layer, kv in zip(model.decoder_layers, projected, strict=True):
        decoder.append(decoder_layer.self_weights(x, mask)[0])
        memory.append(decoder_layer.memory_weights(x, mask, kv, memory_mask)[0])
        x = decoder_layer(x, mask, kv, memory_mask)
    return AttentionMaps(torch.stack(encoder), torch.stack(decoder), torch.stack(memory))
