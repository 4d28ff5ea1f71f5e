"""T5 (version 1.1, MADLAD-400, and 1.0) in Hugging Face layout: languages are named in the source.

MADLAD-400 begins a source with the tag of the target language; the original T5 with a sentence of
its task. Both are prefixes of the text to us.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import convert
from model.importers.pieces import PIECES, load_sentencepiece, many_to_many, padded, resolved
from model.importers.source import ACTIVATIONS, SourceDirectory
from model.network.config import Activation, ModelConfig
from model.network.parameters import RMS_EPSILON, weight_shapes
from model.text.languages import Languages, Pairs
from model.text.tags import public_codes
from model.text.tokenizer_config import TokenizerConfig
from model.values import is_whole_number, shown

MODEL = "spiece.model"
_TAG = re.compile(r"<2([a-z]{2,3}(?:_[A-Za-z]{2,4})*)>")
_TASK = re.compile(r"translation_([A-Za-z_]+)_to_([A-Za-z_]+)")
_USUAL_POSITIONS = 512
_ATTENTION = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"}
_SELF = {
    **{
        f"self_attention.{ours}": f"0.SelfAttention.{theirs}" for ours, theirs in _ATTENTION.items()
    },
    "self_attention_residual.norm": "0.layer_norm",
}
_MEMORY = {
    **{
        f"memory_attention.{ours}": f"1.EncDecAttention.{theirs}"
        for ours, theirs in _ATTENTION.items()
    },
    "memory_attention_residual.norm": "1.layer_norm",
}
_UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
"""In the files of the original T5, and of no effect."""


class _Languages(NamedTuple):
    """The pairs, and the prefix of a source for each target language."""

    pairs: Pairs
    prefixes: dict[str, str]


def import_t5(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    model = source.file(MODEL)
    processor = load_sentencepiece(model)
    own = [str(processor.id_to_piece(i)) for i in range(processor.get_piece_size())]
    pieces, fillers = padded(own, source.number("vocab_size"))
    pairs, prefixes = _languages(source, own, wanted)
    tokenizer = TokenizerConfig(
        MODEL,
        MODEL,
        PIECES,
        PIECES,
        normalization="none",
        source_layout=("prefix", "text", "eos"),
        prefixes=prefixes,
        control=(*(piece for piece in own if piece.startswith("<2")), *fillers),
    )
    config, weights = _convert(source, _architecture(source, pieces))
    files: dict[str, Path | list[str]] = {MODEL: model, PIECES: pieces}
    return Imported(config, weights, tokenizer, files, pairs, source.decoding())


def refuse_umt5(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Raises SourceError."""
    raise SourceError(
        f"{source.path} holds an 'umt5' model, each layer of which has a position bias of its own; "
        "supported of this family: t5 (with MADLAD-400)"
    )


def _languages(source: SourceDirectory, pieces: list[str], wanted: Wanted) -> _Languages:
    """From the tags of the vocabulary, or else from the tasks of config.json."""
    tags = {found[1]: piece for piece in pieces if (found := _TAG.fullmatch(piece))}
    if tags:
        public, pairs = many_to_many(list(tags), wanted)
        return _Languages(pairs, {public[own]: tag for own, tag in tags.items()})
    tasks = dict(_tasks(source))
    if not tasks:
        raise SourceError(
            f"{source.path} does not say its languages: its vocabulary has no tags such as "
            "'<2de>', and task_specific_params in config.json no translation_en_to_de with the "
            "prefix of its sources"
        )
    public = public_codes([code for pair in tasks for code in pair])
    prefixes = {(public[one], public[other]): prefix for (one, other), prefix in tasks.items()}
    return _of_tasks(source, prefixes, Languages(public.values(), public), wanted)


def _tasks(source: SourceDirectory) -> Iterator[tuple[tuple[str, str], str]]:
    """The pair and the prefix of each translation."""
    tasks = source.config.get("task_specific_params") or {}
    if not isinstance(tasks, dict):
        raise SourceError(
            f"{source.path}: task_specific_params must be a table, got {shown(tasks)}"
        )
    for name, task in tasks.items():
        if not (pair := _TASK.fullmatch(name)):
            continue
        prefix = task.get("prefix", "") if isinstance(task, dict) else None
        if not isinstance(prefix, str):
            raise SourceError(
                f"{source.path}: {name} must be a table with a prefix, got {shown(task)}"
            )
        yield (pair[1], pair[2]), prefix


def _of_tasks(
    source: SourceDirectory,
    tasks: Mapping[tuple[str, str], str],
    known: Languages,
    wanted: Wanted,
) -> _Languages:
    """The wanted pairs of all tasks."""
    sources = resolved(known, wanted.sources) or known.codes
    targets = resolved(known, wanted.targets) or known.codes
    prefixes: dict[str, str] = {}
    pairs = [pair for pair in tasks if pair[0] in sources and pair[1] in targets]
    for one, other in pairs:
        if prefixes.setdefault(other, tasks[one, other]) != tasks[one, other]:
            raise SourceError(
                f"{source.path} has a prefix for each source of {other}; choose one with "
                "--source-lang"
            )
    if not pairs:
        raise SourceError(f"{source.path} has no task from {sources} to {targets}")
    return _Languages(tuple(pairs), {code: text for code, text in prefixes.items() if text})


def _architecture(source: SourceDirectory, pieces: list[str]) -> ModelConfig:
    if (epsilon := source.config.get("layer_norm_epsilon", RMS_EPSILON)) != RMS_EPSILON:
        raise SourceError(
            f"{source.path}: layer_norm_epsilon must be {RMS_EPSILON}, got {shown(epsilon)}"
        )
    n_layers, (activation, is_gated) = source.number("num_layers"), _activation(source)
    return ModelConfig(
        src_vocab_size=len(pieces),
        tgt_vocab_size=len(pieces),
        d_model=source.number("d_model"),
        n_heads=source.number("num_heads"),
        d_head=source.number("d_kv"),
        d_ff=source.number("d_ff"),
        dropout=source.config.get("dropout_rate", 0.1),
        n_encoder_layers=n_layers,
        n_decoder_layers=source.number_or("num_decoder_layers", n_layers),
        norm="pre",
        norm_kind="rms",
        positions="buckets",
        distance_buckets=source.number_or("relative_attention_num_buckets", 32),
        longest_distance=source.number_or("relative_attention_max_distance", 128),
        max_positions=source.number_or("n_positions", _USUAL_POSITIONS),
        activation=activation,
        gated=is_gated,
        scale_attention=False,
        scale_embeddings=False,
        pad_id=_pad_id(source),
        bos_id=source.start_id(),
        eos_id=source.special_id("eos_token_id", "</s>", pieces),
    )


def _activation(source: SourceDirectory) -> tuple[Activation, bool]:
    """The activation, and whether it is gated. A gated GELU is the approximate one."""
    name = source.config.get("feed_forward_proj", "relu")
    is_gated = isinstance(name, str) and name.startswith("gated-")
    bare = name.removeprefix("gated-") if isinstance(name, str) else name
    if is_gated and bare == "gelu":
        return "gelu_tanh", True
    if not isinstance(bare, str) or bare not in ACTIVATIONS:
        raise SourceError(
            f"{source.path}: feed_forward_proj must be one of {list(ACTIVATIONS)}, or one of them "
            f"after 'gated-', got {shown(name)}"
        )
    return ACTIVATIONS[bare], is_gated


def _pad_id(source: SourceDirectory) -> int:
    found = source.config.get("pad_token_id", 0)
    if not is_whole_number(found):
        raise SourceError(f"{source.path}: pad_token_id must be a whole number, got {shown(found)}")
    return found


def _convert(source: SourceDirectory, config: ModelConfig) -> tuple[ModelConfig, dict[str, Tensor]]:
    """As `model.importers.names.convert`. T5 has no biases: they are zero."""
    weights, modules = source.weights(), dict(_modules(config))
    weights.pop(_UNUSED, None)
    names = {}
    for name, shape in weight_shapes(config).items():
        module, _, kind = name.rpartition(".")
        if module in modules:
            names[name] = f"{modules[module]}.{kind}"
            if kind == "bias":
                weights[names[name]] = torch.zeros(shape)
    config, ours = convert(weights, config, names)
    if _scales_output(source):
        ours["decoder_norm.weight"] = ours["decoder_norm.weight"].float() * config.d_model**-0.5
    return config, ours


def _scales_output(source: SourceDirectory) -> bool:
    """Whether the decoder's states are divided by sqrt(D), as in version 1.0, whose embeddings are
    the output matrix too. Files of the transformers library say one or the other."""
    is_tied = source.flag("tie_word_embeddings", default=True)
    return source.flag("scale_decoder_outputs", default=is_tied)


def _modules(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Our name and theirs of each module but the embeddings and the output."""
    for side, count, parts in (
        ("encoder", config.n_encoder_layers, {**_SELF, **_feed_forward(1, config.gated)}),
        (
            "decoder",
            config.n_decoder_layers,
            {**_SELF, **_MEMORY, **_feed_forward(2, config.gated)},
        ),
    ):
        for layer in range(count):
            for ours, theirs in parts.items():
                yield f"{side}.{layer}.{ours}", f"{side}.block.{layer}.layer.{theirs}"
        biases = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"
        yield f"{side}_biases", biases
        yield f"{side}_norm", f"{side}.final_layer_norm"


def _feed_forward(place: int, is_gated: bool) -> dict[str, str]:
    dense = f"{place}.DenseReluDense"
    expand = {"expand": "wi_0", "gate": "wi_1"} if is_gated else {"expand": "wi"}
    return {
        **{f"feed_forward.{ours}": f"{dense}.{theirs}" for ours, theirs in expand.items()},
        "feed_forward.contract": f"{dense}.wo",
        "feed_forward_residual.norm": f"{place}.layer_norm",
    }
