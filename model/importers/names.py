"""Map weight names between fairseq, its Hugging Face descendants and our checkpoints.

Importers read by these names; exporters write them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from model.importers.imported import SourceError
from model.importers.weights import require_numbers
from model.network.config import ModelConfig, SharedEmbeddings
from model.network.parameters import weight_shapes

SHARED, SOURCE, TARGET = (
    "shared.weight",
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
)
OUTPUTS = ("lm_head.weight", "decoder.output_projection.weight")
BIAS = "final_logits_bias"

_ATTENTION = ("q_proj", "k_proj", "v_proj", "out_proj")
_SELF = {
    **{f"self_attention.{part}": f"self_attn.{part}" for part in _ATTENTION},
    "self_attention_residual.norm": "self_attn_layer_norm",
    "feed_forward.expand": "fc1",
    "feed_forward.contract": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
_MEMORY = {
    **{f"memory_attention.{part}": f"encoder_attn.{part}" for part in _ATTENTION},
    "memory_attention_residual.norm": "encoder_attn_layer_norm",
}
_PADDING_ROWS = 2
_UNUSED = (".version", ".bias_k", "_float_tensor")
_IGNORED = ("embed_positions.", *_UNUSED)


class Embeddings(NamedTuple):
    """The three matrices by our names; a matrix shared with an earlier one is omitted."""

    shared: SharedEmbeddings
    weights: dict[str, Tensor]


def foreign_names(config: ModelConfig) -> dict[str, str]:
    """Our name -> foreign name for every weight except embeddings and the output."""
    return {
        f"{ours}.{kind}": f"{theirs}.{kind}"
        for ours, theirs in _modules(config)
        for kind in ("weight", "bias")
    }


def convert(
    weights: dict[str, Tensor], config: ModelConfig, names: Mapping[str, str] | None = None
) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Foreign weights by our names, and the configuration completed from the weights. `names`: as
    of `foreign_names`, for another family.

    Raises SourceError if the weights do not fit the configuration.
    """
    require_numbers({n: w for n, w in weights.items() if not any(part in n for part in _UNUSED)})
    shared, ours = _embeddings(weights)
    bias = weights.get(BIAS)
    has_bias = bias is not None and bool(bias.any())
    config = dataclasses.replace(config, shared_embeddings=shared, output_bias=has_bias)
    if bias is not None and has_bias:
        ours["output.bias"] = bias.flatten()
    names = foreign_names(config) if names is None else names
    if missing := [theirs for theirs in names.values() if theirs not in weights]:
        raise SourceError(f"the weights lack {missing[0]}, which the configuration asks for")
    ours |= {name: weights[theirs] for name, theirs in names.items()}
    ours |= _learned_positions(weights, config)
    used = {*names.values(), SHARED, SOURCE, TARGET, BIAS, *OUTPUTS}
    if unused := [n for n in weights if n not in used and not any(part in n for part in _IGNORED)]:
        raise SourceError(f"the weights hold {unused[0]}, which the configuration has no place for")
    _check_shapes(ours, names, config)
    return config, ours


def _modules(config: ModelConfig) -> Iterator[tuple[str, str]]:
    for side, count, parts in (
        ("encoder", config.n_encoder_layers, _SELF),
        ("decoder", config.n_decoder_layers, {**_SELF, **_MEMORY}),
    ):
        for layer in range(count):
            for ours, theirs in parts.items():
                yield f"{side}.{layer}.{ours}", f"{side}.layers.{layer}.{theirs}"
        if config.norm == "pre":
            yield f"{side}_norm", f"{side}.layer_norm"
        if config.embedding_norm:
            ours = "src_embedding" if side == "encoder" else "tgt_embedding"
            yield f"{ours}.norm", f"{side}.layernorm_embedding"


def _embeddings(weights: dict[str, Tensor]) -> Embeddings:
    """Compare values to detect shared matrices: files often hold the same one twice."""
    source = _first(weights, SOURCE, SHARED, TARGET)
    target = _first(weights, TARGET, SHARED, SOURCE)
    output = next((weights[name] for name in OUTPUTS if name in weights), target)
    found = {"src_embedding.tokens.weight": source}
    is_own, has_output = not _is_same(source, target), not _is_same(target, output)
    if has_output:
        found["output.weight"] = output
    if is_own:
        found["tgt_embedding.tokens.weight"] = target
        return Embeddings("none" if has_output else "target", found)
    return Embeddings("inputs" if has_output else "all", found)


def _first(weights: dict[str, Tensor], *names: str) -> Tensor:
    for name in names:
        if name in weights:
            return weights[name]
    raise SourceError(f"the weights hold no embeddings: none of {', '.join(names)}")


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one.data_ptr() == other.data_ptr() or torch.equal(one, other)


def _learned_positions(weights: dict[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Remove the leading padding rows of learned tables; no token uses them."""
    if config.positions != "learned":
        return {}
    found = {}
    for ours, side in (("src_embedding", "encoder"), ("tgt_embedding", "decoder")):
        table = _first(weights, f"{side}.embed_positions.weight")
        found[f"{ours}.learned.weight"] = table[
            _PADDING_ROWS : _PADDING_ROWS + config.max_positions
        ]
    return found


def _check_shapes(ours: dict[str, Tensor], names: Mapping[str, str], config: ModelConfig) -> None:
    for name, shape in weight_shapes(config).items():
        if ours[name].shape != shape:
            raise SourceError(
                f"the weights contradict the configuration: {names.get(name, name)} has shape "
                f"{tuple(ours[name].shape)}, expected {tuple(shape)}"
            )
