"""Marian's own files: OPUS-MT's releases, Bergamot, Firefox Translations.

A translation starts from no token but an embedding of zeros. Here that is one more piece at the
end of both vocabularies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.checkpoint.shortlist import shortlist_bytes
from model.importers.imported import Imported, SourceError, Wanted
from model.importers.marian import tagged_pairs
from model.importers.marian_directory import MarianDirectory, MarianVocabulary
from model.importers.marian_items import MarianItems, read_items
from model.importers.marian_shortlist import read_shortlist
from model.importers.pieces import padded, pairs_of
from model.importers.weights import require_numbers
from model.network.config import (
    Activation,
    Autoregression,
    ModelConfig,
    SharedEmbeddings,
)
from model.network.parameters import weight_shapes
from model.text.languages import Pairs
from model.text.tags import public_codes
from model.text.tokenizer import EOS, PAD
from model.text.tokenizer_config import TokenizerConfig
from model.values import shown

_USUAL_BEAM = {"attention": 4, "ssru": 1}
"""By `ModelConfig.autoregression`: those with an SSRU are students, made for a beam of one."""
_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "silu"}
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "right-left": ("false",),
    "input-types": ([], ["sequence", "sequence"]),
    "lemma-dependency": ("",),
    "transformer-ffn-activation": tuple(_ACTIVATIONS),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-decoder-autoreg": ("self-attention", "rnn"),
    "transformer-rnn-projection": ("false",),
    "transformer-no-projection": ("false",),
    "transformer-pool": ("false",),
    "transformer-tied-layers": ([],),
    "transformer-attention-mask": ("default",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-disable-position-embeddings": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-no-affine": ("false",),
    "ulr": ("false",),
}
"""The values that our network has of Marian's options; one that is missing is as the first."""
_PLACES = {
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("an",),
    "transformer-postprocess-top": ("",),
    "transformer-postprocess-emb": ("", "n"),
}
"""What stands before, after and on top of sublayers and after embeddings, but for dropout ("d"): a
post-norm network. Marian's versions disagree on where the norm is of a pre-norm self-attention."""
_SUBLAYERS = {"self_attention": "self", "memory_attention": "context", "feed_forward": "ffn"}
_LINEARS = {
    **{f"{letter}_proj": letter for letter in "qkv"},
    "out_proj": "o",
    "expand": "1",
    "contract": "2",
    "input_proj": "",
    "forget_proj": "f",
}
_WITHOUT_BIAS = "input_proj.bias"
_EMBEDDING, _BIAS = "tokens.weight", "decoder_ff_logit_out_b"
_OUTPUTS = ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W")


def import_native_marian(path: Path, wanted: Wanted) -> Imported:
    """Read the model of a directory. Raises SourceError."""
    directory = MarianDirectory(path)
    items = read_items(directory.model)
    require_numbers(items.weights)
    source, target = directory.vocabularies()
    size = 1 + max(_num_embeddings(items.weights, side) for side in ("encoder", "decoder"))
    (src, fillers), (tgt, more) = (_padded(side, size) for side in (source, target))
    config = _architecture(directory.model, items, tgt)
    found = [piece for piece in src if piece.startswith(">>") and piece.endswith("<<")]
    tags, pairs = _languages(directory, found, wanted)
    other_tags = [tag for tag in found if tag not in tags.values()]
    tokenizer = TokenizerConfig(
        "source.spm",
        "target.spm",
        "source_vocabulary.json",
        "target_vocabulary.json",
        normalization="none",
        source_layout=("target_tag", "text", "eos") if found else ("text", "eos"),
        tags=tags,
        control=tuple(dict.fromkeys([*other_tags, *fillers, *more])),
    )
    files: dict[str, Path | list[str]] = {
        "source.spm": source.sentencepiece,
        "target.spm": target.sentencepiece,
        "source_vocabulary.json": src,
        "target_vocabulary.json": tgt,
    }
    weights = _converted(directory.model, items.weights, config)
    decoding = directory.decoding(_USUAL_BEAM[config.autoregression])
    shortlist = _shortlist(directory, source.pieces[: size - 1], target.pieces[: size - 1])
    return Imported(config, weights, tokenizer, files, pairs, decoding, shortlist)


def _shortlist(
    directory: MarianDirectory, source: Sequence[str], target: Sequence[str]
) -> bytes | None:
    file = directory.shortlist()
    if file is None:
        return None
    listed = read_shortlist(file, source, target)
    return shortlist_bytes(*(listed.with_sources() if directory.shares_vocabulary else listed))


def _num_embeddings(weights: Mapping[str, Tensor], side: str) -> int:
    for name in (f"{side}_Wemb", "Wemb"):
        if name in weights:
            return len(weights[name])
    raise SourceError(f"the model lacks {side}_Wemb and Wemb, one of which has its embeddings")


def _padded(vocabulary: MarianVocabulary, size: int) -> tuple[list[str], tuple[str, ...]]:
    """The pieces of a side and those that fill it up; the last one is the start of a translation.
    Marian, too, leaves out pieces that are more than it has embeddings."""
    own = [f"other {PAD}" if piece == PAD else piece for piece in vocabulary.pieces[: size - 1]]
    pieces, fillers = padded(own, size - 1)
    return [*pieces, PAD], fillers


def _languages(
    directory: MarianDirectory, found: Sequence[str], wanted: Wanted
) -> tuple[dict[str, str], Pairs]:
    """The tag of each target language, and the pairs."""
    told = directory.languages() or ("", "")
    sources, targets = (
        tuple(public_codes(codes or ([own] if own else [])).values())
        for codes, own in zip((wanted.sources, wanted.targets), told, strict=True)
    )
    if not sources or not (found or targets):
        raise SourceError(
            f"{directory.path} does not say its languages; name them with --source-lang"
            + ("" if found else " and --target-lang")
        )
    if found:
        return tagged_pairs(found, sources, wanted.targets)
    return {}, pairs_of(sources, targets)


def _architecture(path: Path, items: MarianItems, target: Sequence[str]) -> ModelConfig:
    options = _Options(path, items.options)
    if EOS not in target:
        raise SourceError(f"{path}: the vocabulary lacks the piece {EOS!r}")
    size = len(target)
    return ModelConfig(
        src_vocab_size=size,
        tgt_vocab_size=size,
        d_model=options.number("dim-emb"),
        n_heads=options.number("transformer-heads"),
        d_ff=options.number("transformer-dim-ffn"),
        n_encoder_layers=options.number("enc-depth"),
        n_decoder_layers=options.number("dec-depth"),
        sinusoids="tensor2tensor",
        embedding_norm=options.place("transformer-postprocess-emb") == "n",
        activation=_ACTIVATIONS[options.checked("transformer-ffn-activation")],
        shared_embeddings=_sharing(items.weights),
        output_bias=_BIAS in items.weights,
        pad_id=size - 1,
        bos_id=size - 1,
        eos_id=target.index(EOS),
        autoregression=options.autoregression(),
    )


def _sharing(weights: Mapping[str, Tensor]) -> SharedEmbeddings:
    if any(name in weights for name in _OUTPUTS):
        return "none"
    return "target" if "decoder_Wemb" in weights else "all"


class _Options:
    """The model's description, checked; every error is a SourceError."""

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        self._path, self._values = path, values
        for name in _SUPPORTED:
            self.checked(name)
        for name in _PLACES:
            self.place(name)
        same = ("0", self._get("transformer-dim-ffn"))
        if self._get("transformer-decoder-dim-ffn", "0") not in same:
            raise self._unsupported("transformer-decoder-dim-ffn", "0")

    def checked(self, name: str) -> Any:
        """The value, one of `_SUPPORTED`."""
        allowed = _SUPPORTED[name]
        value = self._get(name, allowed[0])
        if value not in allowed:
            raise self._unsupported(name, " or ".join(str(one) or "empty" for one in allowed))
        return value

    def number(self, name: str) -> int:
        value = self._get(name)
        if not isinstance(value, str) or not re.fullmatch("[0-9]{1,6}", value):
            raise self._unsupported(name, "a whole number")
        return int(value)

    def place(self, name: str) -> str:
        """What stands there, one of `_PLACES`."""
        allowed = _PLACES[name]
        found = str(self._get(name, allowed[0])).replace("d", "")
        if found not in allowed:
            raise self._unsupported(name, " or ".join(repr(one) for one in allowed))
        return found

    def autoregression(self) -> Autoregression:
        if self.checked("transformer-decoder-autoreg") == "self-attention":
            return "attention"
        if self._get("dec-cell", "gru") != "ssru":
            raise self._unsupported("dec-cell", "ssru")
        return "ssru"

    def _get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def _unsupported(self, name: str, allowed: str) -> SourceError:
        return SourceError(
            f"{self._path}: {name} must be {allowed}, got {shown(self._values.get(name))}"
        )


def _converted(path: Path, weights: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """The weights by our names. Raises SourceError if they do not fit the configuration."""
    ours, used = {}, set()
    for name, shape in weight_shapes(config).items():
        if name.endswith(_WITHOUT_BIAS):
            ours[name] = torch.zeros(shape)
            continue
        theirs = next((one for one in _names(name, config) if one in weights), None)
        if theirs is None:
            raise SourceError(f"{path} lacks {_names(name, config)[0]}, which its options ask for")
        used.add(theirs)
        ours[name] = _in_our_layout(name, theirs, weights[theirs], shape)
        if ours[name].shape != shape:
            raise SourceError(
                f"{path}: {theirs} has shape {tuple(weights[theirs].shape)}, which contradicts its "
                "options"
            )
    if unused := sorted(set(weights) - used):
        raise SourceError(f"{path} holds {unused[0]}, which its options have no place for")
    return ours


def _names(name: str, config: ModelConfig) -> tuple[str, ...]:
    """Marian's possible names of one of our weights."""
    side = "encoder" if name.startswith(("src_", "encoder")) else "decoder"
    kind = "scale" if name.endswith("weight") else "bias"
    if name.endswith(_EMBEDDING):
        return (f"{side}_Wemb", "Wemb")
    if name.startswith("output"):
        return _OUTPUTS if kind == "scale" else (_BIAS,)
    if "embedding.norm" in name:
        return (f"{side}_emb_ln_{kind}_pre",)
    _, layer, sublayer, module, *_ = name.split(".")
    theirs = _SUBLAYERS[sublayer.removesuffix("_residual")]
    if (side, theirs, config.autoregression) == ("decoder", "self", "ssru"):
        theirs = "rnn"
    prefix = f"{side}_l{int(layer) + 1}_{theirs}"
    if module == "norm":
        return (f"{prefix}_{'Wo' if theirs in ('self', 'context') else 'ffn'}_ln_{kind}",)
    return (f"{prefix}_{'W' if kind == 'scale' else 'b'}{_LINEARS[module]}",)


def _in_our_layout(name: str, theirs: str, weight: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Marian's matrices have inputs as rows; those with a row for each piece get more rows."""
    if name.endswith(_EMBEDDING) or name == "output.weight":
        rows = weight.T if theirs == _OUTPUTS[1] else weight
        return _with_rows(rows, shape[0])
    if len(shape) == 2:
        return weight.T.contiguous()
    vector = weight.flatten()
    return _with_rows(vector, shape[0]) if name == "output.bias" else vector


def _with_rows(table: Tensor, size: int) -> Tensor:
    missing = table.new_zeros(max(0, size - len(table)), *table.shape[1:])
    return torch.cat([table, missing])
