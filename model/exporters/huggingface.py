"""Write a checkpoint as a Hugging Face directory, for transformers and CTranslate2's converter.

Three of its families match our network: "marian" is post-norm, "pegasus" is the same network with
pre-norm, "m2m_100" is pre-norm with tensor2tensor's sinusoids from position 2 on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.exporters.tokenizers import (
    ExportError,
    write_json,
    write_m2m_100_tokenizer,
    write_marian_tokenizer,
)
from model.importers.names import BIAS, SHARED, SOURCE, TARGET, foreign_names
from model.network.config import Activation, ModelConfig
from model.network.parameters import sinusoids

_ACTIVATIONS: dict[Activation, str] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "silu": "swish",
}

_WRITERS = ("out_proj", "contract")
"""Layers that add to the residual stream; all other layers with a matrix read it."""


@dataclass(frozen=True)
class Format:
    """A family that can hold some checkpoints: the allowed values of each option."""

    architecture: str
    options: dict[str, tuple[Any, ...]]
    write_tokenizer: Callable[[Path, Checkpoint, Path], None]


_BART = {
    "norm_kind": ("layer",),
    "d_head": (0,),
    "scale_attention": (True,),
    "gated": (False,),
    "autoregression": ("attention",),
}
"""What all of these families have in common."""
_SINUSOIDS = {
    **_BART,
    "positions": ("sinusoidal",),
    "sinusoids": ("interleaved", "halves"),
    "position_offset": (0,),
    "embedding_norm": (False,),
}
FORMATS = {
    "marian": Format(
        "MarianMTModel",
        {"norm": ("post",), **_SINUSOIDS, "shared_embeddings": ("all", "target")},
        write_marian_tokenizer,
    ),
    "pegasus": Format(
        "PegasusForConditionalGeneration",
        {"norm": ("pre",), **_SINUSOIDS, "shared_embeddings": ("all",)},
        write_marian_tokenizer,
    ),
    "m2m_100": Format(
        "M2M100ForConditionalGeneration",
        {
            **_BART,
            "norm": ("pre",),
            "positions": ("sinusoidal",),
            "sinusoids": ("tensor2tensor",),
            "position_offset": (2,),
            "embedding_norm": (False,),
            "shared_embeddings": ("all",),
            "output_bias": (False,),
        },
        write_m2m_100_tokenizer,
    ),
}


def export_checkpoint(source: Path, destination: Path, name: str | None = None) -> None:
    """Write the checkpoint directory `source` in the format `name`, in float32; None: the first
    format that can hold it.

    Raises ExportError or CheckpointError and leaves no files then.
    """
    if destination.exists():
        raise ExportError(f"{destination} exists already; remove it or name another directory")
    checkpoint = load_checkpoint(source)
    config = checkpoint.info.architecture
    name = name or next((n for n in FORMATS if not _misfits(config, n)), next(iter(FORMATS)))
    _require_fit(config, name)
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=destination.parent) as scratch:
        finished = Path(scratch) / "model"
        finished.mkdir()
        FORMATS[name].write_tokenizer(finished, checkpoint, source)
        _write_config(finished, checkpoint, name)
        save_file(
            _foreign_weights(checkpoint, name), finished / "model.safetensors", {"format": "pt"}
        )
        finished.rename(destination)


def _misfits(config: ModelConfig, name: str) -> list[str]:
    """The options that the format cannot hold."""
    allowed = FORMATS[name].options.items()
    return [option for option, values in allowed if getattr(config, option) not in values]


def _require_fit(config: ModelConfig, name: str) -> None:
    for option in _misfits(config, name):
        value = getattr(config, option)
        fitting = " or ".join(map(repr, FORMATS[name].options[option]))
        others = [n for n in FORMATS if value in FORMATS[n].options.get(option, (value,))]
        raise ExportError(
            f"format {name!r} cannot hold a checkpoint with {option} {value!r}: it must be "
            f"{fitting}; formats that have it: {', '.join(others) or 'none'}"
        )


def _foreign_weights(checkpoint: Checkpoint, name: str) -> dict[str, Tensor]:
    config = checkpoint.info.architecture
    weights = checkpoint.model.weights
    if config.sinusoids == "interleaved":
        weights = _in_halves(weights)
    foreign = {theirs: weights[ours] for ours, theirs in foreign_names(config).items()}
    embeddings = weights["src_embedding.tokens.weight"].clone()
    if name == "pegasus":
        embeddings[config.pad_id] = embeddings[config.bos_id]
    if config.shared_embeddings == "all":
        foreign[SHARED] = embeddings
    else:
        foreign |= {SOURCE: embeddings, TARGET: weights["tgt_embedding.tokens.weight"]}
    renamed = {f"model.{theirs}": tensor.contiguous() for theirs, tensor in foreign.items()}
    if name != "m2m_100":
        table = torch.from_numpy(sinusoids(config.max_positions, config.d_model, "halves"))
        for side in ("encoder", "decoder"):
            renamed[f"model.{side}.embed_positions.weight"] = table.clone()
        bias = weights.get("output.bias", torch.zeros(config.tgt_vocab_size))
        renamed[BIAS] = bias[None].contiguous()
    return renamed


def _in_halves(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same network with the dimensions of all sines before those of all cosines.

    Every layer that reads or writes the residual stream is permuted to the new order.
    """
    changed = {}
    for name, tensor in weights.items():
        module = name.split(".")[-2]
        if module in _WRITERS or "norm" in name:
            changed[name] = tensor[_halves(tensor.size(0))]
        elif tensor.dim() == 2:
            changed[name] = tensor[:, _halves(tensor.size(1))]
        else:
            changed[name] = tensor
    return changed


def _halves(size: int) -> Tensor:
    return torch.cat([torch.arange(0, size, 2), torch.arange(1, size, 2)])


def _write_config(directory: Path, checkpoint: Checkpoint, name: str) -> None:
    """Write config.json for the network and generation_config.json for decoding."""
    config, decoding = checkpoint.info.architecture, checkpoint.info.decoding
    ids = {
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.pad_id if name == "pegasus" else config.bos_id,
        "forced_eos_token_id": None,
    }
    generation = {
        "num_beams": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "repetition_penalty": decoding.repetition_penalty,
        "no_repeat_ngram_size": decoding.no_repeat_ngram_size,
        "max_length": config.max_positions,
        "bad_words_ids": [[token] for token in checkpoint.tokenizer.control_ids()],
    }
    write_json(directory / "config.json", {**_architecture(config, name), **ids})
    write_json(directory / "generation_config.json", {**generation, **ids})


def _architecture(config: ModelConfig, name: str) -> dict[str, Any]:
    """The network in config.json's terms; the last two lines are for CTranslate2."""
    return {
        "model_type": name,
        "architectures": [FORMATS[name].architecture],
        "is_encoder_decoder": True,
        "vocab_size": config.src_vocab_size,
        "decoder_vocab_size": config.tgt_vocab_size,
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        **{f"{side}_attention_heads": config.n_heads for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": config.d_ff for side in ("encoder", "decoder")},
        "activation_function": _ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": config.max_positions,
        "scale_embedding": config.scale_embeddings,
        "share_encoder_decoder_embeddings": config.shared_embeddings == "all",
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "normalize_before": config.norm == "pre",
        "normalize_embedding": False,
    }
