"""fairseq Transformer archives: one pair, a .pt file with dictionaries and sentencepiece."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from model.decoding.options import DecodingOptions
from model.files import FileError, read_text
from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import SOURCE, TARGET, convert
from model.importers.pieces import FAIRSEQ_SPECIALS, padded, pairs_of
from model.importers.source import ACTIVATIONS
from model.importers.weights import read_pickle, tensors_of
from model.network.config import ModelConfig
from model.text.tags import public_codes
from model.text.tokenizer_config import TokenizerConfig
from model.values import is_whole_number, shown

_START, _PAD = 2, 1
_NEEDED_OFF = ("no_cross_attention", "no_token_positional_embeddings", "adaptive_softmax_cutoff")
_PAIRED = ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before", "learned_pos")
_OVERWRITE = " #fairseq:overwrite"
_MOST_DICTIONARY_BYTES = 2**28
_OLD_OUTPUT, _OUTPUT = "decoder.embed_out", "decoder.output_projection.weight"


def import_fairseq(archive: Path, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    saved = read_pickle(archive, allowed=(argparse.Namespace,))
    if "opt" in saved and "vocab" in saved:
        raise SourceError(f"{archive} is a model of OpenNMT-py, which is not supported")
    if not isinstance(saved.get("model"), Mapping):
        raise SourceError(f"{archive} is no fairseq archive: it holds no 'model'")
    options = _options(saved, archive)
    weights = _modern(tensors_of(saved["model"], archive), archive)
    languages = _languages(options, archive, wanted)
    tables = [weights[name] for name in (SOURCE, TARGET) if name in weights]
    if len(tables) != 2 or any(table.dim() != 2 for table in tables):
        raise SourceError(
            f"{archive} is no fairseq Transformer: {SOURCE} and {TARGET} must be matrices"
        )
    sizes = [table.size(0) for table in tables]
    files: dict[str, Path | list[str]] = {}
    fillers: list[str] = []
    for side, language, size in zip(("source", "target"), languages, sizes, strict=True):
        pieces, added = padded(_dictionary(archive.parent, language), size)
        files[f"{side}_vocabulary.json"] = pieces
        files[f"{side}.model"] = _sentencepiece(archive.parent, language)
        fillers += added
    architecture, ours = convert(weights, _architecture(options, sizes, archive))
    tokenizer = TokenizerConfig(
        "source.model",
        "target.model",
        "source_vocabulary.json",
        "target_vocabulary.json",
        normalization="none",
        source_layout=("text", "eos"),
        control=tuple(dict.fromkeys(fillers)),
    )
    pairs = pairs_of(*([code] for code in public_codes(languages).values()))
    return Imported(architecture, ours, tokenizer, files, pairs, DecodingOptions(beam_size=5))


def _options(saved: Mapping[str, Any], archive: Path) -> dict[str, Any]:
    """The training options: `args`, or `cfg` since fairseq 0.10."""
    groups = [saved.get("args")]
    if isinstance(cfg := saved.get("cfg"), Mapping):
        groups += [cfg.get("task"), cfg.get("model")]
    options: dict[str, Any] = {}
    for group in groups:
        table = vars(group) if isinstance(group, argparse.Namespace) else group or {}
        if not isinstance(table, Mapping):
            raise SourceError(f"{archive}: options must be a table, got {shown(table)}")
        options |= table
    if not options:
        raise SourceError(f"{archive} says nothing of its architecture: no 'args' and no 'cfg'")
    return options


def _languages(options: Mapping[str, Any], archive: Path, wanted: Wanted) -> tuple[str, str]:
    sides = (
        (wanted.sources, "source_lang", "--source-lang"),
        (wanted.targets, "target_lang", "--target-lang"),
    )
    codes = []
    for named, key, flag in sides:
        code = named[0] if len(named) == 1 else options.get(key)
        if not isinstance(code, str) or len(named) > 1:
            raise SourceError(f"{archive} does not say its {key}; name it once with {flag}")
        codes.append(code)
    return codes[0], codes[1]


def _architecture(options: Mapping[str, Any], sizes: list[int], archive: Path) -> ModelConfig:
    for name in _NEEDED_OFF:
        if options.get(name):
            raise SourceError(f"{archive}: the option {name} is not supported")
    for name in _PAIRED:
        if options.get(f"encoder_{name}") != options.get(f"decoder_{name}"):
            raise SourceError(f"{archive}: encoder_{name} and decoder_{name} must be equal")
    activation = options.get("activation_fn", "relu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise SourceError(
            f"{archive}: activation_fn must be one of {list(ACTIVATIONS)}, got {shown(activation)}"
        )
    is_learned = bool(options.get("encoder_learned_pos"))
    limits = [options.get(f"max_{side}_positions") or 1024 for side in ("source", "target")]
    if not all(is_whole_number(limit) for limit in limits):
        raise SourceError(f"{archive}: max positions must be whole numbers, got {shown(limits)}")
    try:
        return ModelConfig(
            src_vocab_size=sizes[0],
            tgt_vocab_size=sizes[1],
            d_model=options["encoder_embed_dim"],
            n_heads=options["encoder_attention_heads"],
            d_ff=options["encoder_ffn_embed_dim"],
            n_encoder_layers=options["encoder_layers"],
            n_decoder_layers=options["decoder_layers"],
            norm="pre" if options.get("encoder_normalize_before") else "post",
            positions="learned" if is_learned else "sinusoidal",
            sinusoids="interleaved" if is_learned else "tensor2tensor",
            position_offset=0 if is_learned else _PAD + 1,
            max_positions=min(limits),
            activation=ACTIVATIONS[activation],
            shared_embeddings="none",
            scale_embeddings=not options.get("no_scale_embedding"),
            embedding_norm=bool(options.get("layernorm_embedding")),
            pad_id=_PAD,
            bos_id=_START,
            eos_id=_START,
        )
    except KeyError as error:
        raise SourceError(f"{archive} is no Transformer: its options lack {error}") from error


def _modern(weights: dict[str, Tensor], archive: Path) -> dict[str, Tensor]:
    """Weights by current names: old archives keep queries, keys and values in one matrix."""
    modern = {}
    for name, tensor in weights.items():
        if name == _OLD_OUTPUT:
            modern[_OUTPUT] = tensor
        elif ".in_proj_" in name:
            stem, _, kind = name.partition("in_proj_")
            if tensor.dim() == 0 or tensor.size(0) % 3:
                raise SourceError(
                    f"{archive}: {shown(name)} must hold queries, keys and values, got shape "
                    f"{tuple(tensor.shape)}"
                )
            parts = zip("qkv", tensor.chunk(3), strict=True)
            modern |= {f"{stem}{letter}_proj.{kind}": part for letter, part in parts}
        else:
            modern[name] = tensor
    return modern


def _dictionary(directory: Path, language: str) -> list[str]:
    """The pieces of dict.<language>.txt, or of dict.txt, after fairseq's four specials."""
    names = (f"dict.{language}.txt", "dict.txt")
    path = next((p for n in names if (p := directory / n).is_file()), None)
    if path is None:
        raise SourceError(f"{directory} lacks the dictionary {' or '.join(names)}")
    try:
        text = read_text(path, _MOST_DICTIONARY_BYTES)
    except FileError as error:
        raise SourceError(str(error)) from error
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [
        *FAIRSEQ_SPECIALS,
        *(_piece(line, f"{path}, line {i}") for i, line in enumerate(lines, 1)),
    ]


def _piece(line: str, where: str) -> str:
    piece, _, count = line.removesuffix(_OVERWRITE).rpartition(" ")
    if not piece or not count.isdecimal():
        raise SourceError(f"{where}: expected a piece and its count, got {shown(line)}")
    return piece


def _sentencepiece(directory: Path, language: str) -> Path:
    """The only .model file, or the one with the language in its name."""
    found = sorted(directory.glob("*.model"))
    own = [file for file in found if language in file.name.split(".")]
    if len(own or found) == 1:
        return (own or found)[0]
    said = ", ".join(file.name for file in found) or "none"
    raise SourceError(
        f"{directory} needs one sentencepiece model (*.model) for {language!r}, found {said}; "
        "subword-nmt and Moses tokenisation are not supported"
    )
