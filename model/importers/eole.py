"""eole's Transformers, QuickMT's among them: one pair, pre-norm, sinusoidal positions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from torch import Tensor

from model.decoding.options import DecodingOptions
from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import BIAS, OUTPUTS, SOURCE, TARGET, convert
from model.importers.pieces import load_sentencepiece, one_language, pairs_of
from model.importers.source import SourceDirectory
from model.importers.weights import read_weights
from model.network.config import Activation, ModelConfig, Sinusoids
from model.text.tags import public_codes
from model.text.tokenizer_config import TokenizerConfig
from model.values import is_file_name, shown

_SINUSOIDS: dict[str, Sinusoids] = {
    "SinusoidalInterleaved": "interleaved",
    "SinusoidalConcat": "tensor2tensor",
}
_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "gelu": "gelu", "silu": "silu"}
_DEFAULTS = {
    "hidden_size": 512,
    "heads": 8,
    "transformer_ff": 2048,
    "layers": 2,
    "mlp_activation_fn": "relu",
    "layer_norm": "standard",
    "norm_eps": 1e-5,
    "position_encoding_type": "SinusoidalInterleaved",
}
"""eole's own; a configuration has only what was set."""
_CHOICES: dict[str, tuple[object, ...]] = {
    "position_encoding_type": tuple(_SINUSOIDS),
    "position_encoding": (True,),
    "mlp_activation_fn": tuple(_ACTIVATIONS),
    "layer_norm": ("standard", "standardFP32"),
    "encoder_layer_style": ("standard",),
    "generator_function": ("softmax",),
    **dict.fromkeys(
        ("parallel_residual", "ffn_layernorm", "value_norm", "attn_scaling", "sliding_window"),
        (None, False, 0),
    ),
}
"""Allowed values of the options that leave no trace in the names and shapes of the weights."""
_MOST_EPSILON = 1e-5
"""Our layer norms' epsilon. Smaller ones differ by less than float16 resolves."""
_MAX_POSITIONS = 1024
_TRAINING_TRANSFORMS = ("filtertoolong", "filtertooshort")
_SPECIALS = {"unk_token": "<unk>", "pad_token": "<blank>", "bos_token": "<s>", "eos_token": "</s>"}
_OUR_SPECIALS = {**_SPECIALS, "pad_token": "<pad>"}
_FILLER = "averyunlikelytoken"
_WEIGHT_FILES = "model.[0-9][0-9].safetensors"
_NAMES = {
    "src_emb.embeddings.weight": SOURCE,
    "tgt_emb.embeddings.weight": TARGET,
    "generator.weight": OUTPUTS[0],
    "generator.bias": BIAS,
}
_PARTS = {
    "transformer_layers": "layers",
    "context_attn": "encoder_attn",
    "linear_query": "q_proj",
    "linear_keys": "k_proj",
    "linear_values": "v_proj",
    "final_linear": "out_proj",
    "mlp": "",
    "gate_up_proj": "fc1",
    "down_proj": "fc2",
    "input_layernorm": "self_attn_layer_norm",
    "precontext_layernorm": "encoder_attn_layer_norm",
    "post_attention_layernorm": "final_layer_norm",
}
_LINEAR = ("_proj.weight", ".fc1.weight", ".fc2.weight")
_CONSTANTS = (".pe.pe", ".layer_scalar")
"""Tables of sinusoids, and factors that only other architectures use."""
_PAIR = re.compile(r"(?:.*[-_/])?([a-z]{2,3})-([a-z]{2,3})")
"""A name that ends with its languages, as quickmt-zh-en."""


def import_eole(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    encoder, decoder = _options(source)
    vocabulary = source.json(source.file("vocab.json").name)
    src, tgt = (_pieces(source, vocabulary, side) for side in ("src", "tgt"))
    config = ModelConfig(
        src_vocab_size=len(src),
        tgt_vocab_size=len(tgt),
        d_model=encoder["hidden_size"],
        n_heads=encoder["heads"],
        d_ff=encoder["transformer_ff"],
        n_encoder_layers=encoder["layers"],
        n_decoder_layers=decoder["layers"],
        norm="pre",
        sinusoids=_SINUSOIDS[encoder["position_encoding_type"]],
        max_positions=_MAX_POSITIONS,
        activation=_ACTIVATIONS[encoder["mlp_activation_fn"]],
        shared_embeddings="none",
        pad_id=_pad_id(source, src, tgt),
        bos_id=_start_id(source, vocabulary),
        eos_id=tgt.index("</s>"),
    )
    architecture, weights = convert(_weights(source), config)
    fillers = [piece for piece in (*src, *tgt) if piece.startswith(_FILLER)]
    tokenizer = TokenizerConfig(
        "source.model",
        "target.model",
        "source_vocabulary.json",
        "target_vocabulary.json",
        normalization="none",
        source_layout=("text",),
        control=tuple(dict.fromkeys(fillers)),
    )
    source_model, target_model = _sentencepiece(source)
    files: dict[str, Path | list[str]] = {
        "source.model": source_model,
        "target.model": target_model,
        "source_vocabulary.json": src,
        "target_vocabulary.json": tgt,
    }
    pairs = pairs_of(*_languages(source, wanted))
    return Imported(architecture, weights, tokenizer, files, pairs, DecodingOptions(beam_size=5))


def _options(source: SourceDirectory) -> list[dict[str, Any]]:
    """The options of the encoder and of the decoder. Raises SourceError for what our network
    lacks."""
    model = source.config["model"]
    if model.get("architecture") != "transformer":
        raise _wrong(source, "architecture", ["transformer"], model.get("architecture"))
    common = {**_DEFAULTS, **model, **model.get("embeddings", {})}
    sides = [{**common, **model.get(side, {})} for side in ("encoder", "decoder")]
    for name, allowed in _CHOICES.items():
        for side in sides:
            if name in side and side[name] not in allowed:
                raise _wrong(source, name, list(allowed), side[name])
    for name in ("hidden_size", "heads", "transformer_ff", "mlp_activation_fn"):
        if len({side[name] for side in sides}) > 1:
            raise SourceError(f"{source.path}: {name} must be equal in encoder and decoder")
    for epsilon in (side["norm_eps"] for side in sides):
        if not 0 < epsilon <= _MOST_EPSILON:
            raise _wrong(source, "norm_eps", f"at most {_MOST_EPSILON}", epsilon)
    return sides


def _wrong(source: SourceDirectory, name: str, allowed: object, value: object) -> SourceError:
    one_of = "one of " if isinstance(allowed, list) else ""
    return SourceError(
        f"{source.path}: {name} of an eole model must be {one_of}{allowed}, got {shown(value)}"
    )


def _pieces(source: SourceDirectory, vocabulary: Mapping[str, Any], side: str) -> list[str]:
    """One side's pieces by id, the special ones under our names."""
    pieces = vocabulary.get(side)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise SourceError(f"{source.path}: vocab.json must list the pieces of {side!r}")
    own = {**_SPECIALS, **vocabulary.get("specials", {})}
    renamed = {own[name]: ours for name, ours in _OUR_SPECIALS.items()}
    found = [renamed.get(str(piece), str(piece)) for piece in pieces]
    for name, ours in _OUR_SPECIALS.items():
        if found.count(ours) != 1:
            raise SourceError(
                f"{source.path}: the vocabulary of {side!r} must have {own[name]!r} ({name}) once"
            )
    return found


def _pad_id(source: SourceDirectory, src: list[str], tgt: list[str]) -> int:
    ids = [pieces.index("<pad>") for pieces in (src, tgt)]
    if ids[0] != ids[1]:
        raise SourceError(
            f"{source.path}: the padding must have the same id on both sides, got {ids}"
        )
    return ids[0]


def _start_id(source: SourceDirectory, vocabulary: Mapping[str, Any]) -> int:
    start = vocabulary.get("decoder_start_token", _SPECIALS["bos_token"])
    if start not in vocabulary["tgt"]:
        raise SourceError(f"{source.path}: the vocabulary lacks decoder_start_token {shown(start)}")
    return int(vocabulary["tgt"].index(start))


def _sentencepiece(source: SourceDirectory) -> list[Path]:
    """The sentencepiece models of the source and of the target."""
    transforms = source.config.get("transforms") or []
    applied = [name for name in transforms if name not in _TRAINING_TRANSFORMS]
    if applied != ["sentencepiece"]:
        raise _wrong(source, "transforms", ["sentencepiece"], applied)
    options = source.config["transforms_configs"]["sentencepiece"]
    if any(options.get(f"{side}_vocab_threshold") for side in ("src", "tgt")):
        raise SourceError(f"{source.path}: sentencepiece's vocab_threshold is not supported")
    shared = options.get("src_subword_model")
    named = (shared, options.get("tgt_subword_model") or shared)
    found = [source.file(_file_name(source, path)) for path in named]
    for model in dict.fromkeys(found):
        load_sentencepiece(model)
    return found


def _file_name(source: SourceDirectory, path: object) -> str:
    """The last part of a path that begins where the model was trained, or with ${MODEL_PATH}."""
    name = PurePosixPath(path).name if isinstance(path, str) else path
    if not is_file_name(name):
        raise SourceError(f"{source.path}: a subword model must be a file, got {shown(path)}")
    return name


def _languages(source: SourceDirectory, wanted: Wanted) -> list[list[str]]:
    """The user's languages, or those at the end of the model's name, of each side."""
    found = _PAIR.fullmatch(source.name)
    told = [one_language(code) for code in found.groups()] if found else [None, None]
    sides = []
    for chosen, code in zip((wanted.sources, wanted.targets), told, strict=True):
        codes = chosen or ((code,) if code else ())
        if not codes:
            raise SourceError(
                f"{source.path} does not say its languages, as a name like quickmt-zh-en does; "
                "name them with --source-lang and --target-lang"
            )
        sides.append(list(public_codes(codes).values()))
    return sides


def _weights(source: SourceDirectory) -> dict[str, Tensor]:
    """Every weight by fairseq's name, with zeros for the biases that the model was built without.
    Raises SourceError."""
    files = sorted(source.path.glob(_WEIGHT_FILES))
    if not files:
        raise SourceError(f"{source.path} holds no weights: no model.00.safetensors")
    weights: dict[str, Tensor] = {}
    for file in files:
        for name, tensor in read_weights(file).items():
            if not name.endswith(_CONSTANTS):
                weights[_NAMES.get(name) or _renamed(name)] = tensor
    for name in [name for name in weights if name.endswith(_LINEAR)]:
        bias = name.removesuffix("weight") + "bias"
        weights.setdefault(bias, torch.zeros(weights[name].shape[:1]))
    return weights


def _renamed(name: str) -> str:
    parts = [_PARTS.get(part, part) for part in name.split(".")]
    return ".".join(part for part in parts if part)
