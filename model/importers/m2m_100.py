"""M2M-100, NLLB-200 and SMaLL-100 in Hugging Face layout: many languages, each with a tag.

The first two tag both sides with their own language, SMaLL-100 only the source, with the target's.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import convert
from model.importers.pieces import (
    MODEL,
    PIECES,
    listed,
    many_to_many,
    many_to_many_tokenizer,
    padded,
    tagged_pieces,
)
from model.importers.source import SourceDirectory
from model.network.config import ModelConfig
from model.text.tokenizer_config import LayoutPart
from model.values import shown

_FIRST_POSITION = 2
_SMALL_100 = "small100"
_SMALL_100_TOKENIZER = "tokenization_small100.py"
_SMALL_100_LAYERS = (12, 3)
_LANGUAGES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
        "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml "
        "mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl "
        "tn tr uk ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
"""M2M-100's languages in id order; no file of its checkpoints lists them."""


def import_m2m_100(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    model = source.file(MODEL)
    pieces, tags = _m2m_pieces(source) if source.has("vocab.json") else _nllb_pieces(source)
    pieces, fillers = padded(pieces, source.number("vocab_size"))
    public, pairs = many_to_many(list(tags), wanted)
    tokenizer = many_to_many_tokenizer({public[own]: tag for own, tag in tags.items()}, fillers)
    if _is_small_100(source):
        layout: tuple[LayoutPart, ...] = ("target_tag", "text", "eos")
        tokenizer = dataclasses.replace(tokenizer, source_layout=layout, target_layout=())
    architecture, weights = convert(source.weights(), _architecture(source, pieces))
    files: dict[str, Path | list[str]] = {MODEL: model, PIECES: pieces}
    return Imported(architecture, weights, tokenizer, files, pairs, source.decoding())


def _is_small_100(source: SourceDirectory) -> bool:
    """Whether the model is SMaLL-100, whose config.json and vocabulary are like M2M-100's. Its
    tokenizer, its file of code or the name that it was saved from tell."""
    kind = source.tokenizer.get("tokenizer_class")
    names = (kind, source.config.get("_name_or_path"), source.tokenizer.get("name_or_path"))
    if source.has(_SMALL_100_TOKENIZER) or any(_SMALL_100 in str(name).lower() for name in names):
        return True
    layers = (source.number("encoder_layers"), source.number("decoder_layers"))
    if kind is None and layers == _SMALL_100_LAYERS and source.has("vocab.json"):
        raise SourceError(
            f"{source.path} may be SMaLL-100, as its layers are, or M2M-100: tokenizer_class in "
            "tokenizer_config.json must be 'SMALL100Tokenizer' or 'M2M100Tokenizer', got None"
        )
    return False


def _m2m_pieces(source: SourceDirectory) -> tuple[list[str], dict[str, str]]:
    """M2M-100: a vocabulary file, then tags like `__en__` -> pieces, {language: tag}."""
    family = source.tokenizer.get("language_codes", "m2m100")
    if not isinstance(family, str) or family not in _LANGUAGES:
        raise SourceError(
            f"{source.path}: language_codes must be one of {list(_LANGUAGES)}, got {shown(family)}"
        )
    tags = {code: f"__{code}__" for code in _LANGUAGES[family].split()}
    pieces = listed(source.json("vocab.json"), source.path / "vocab.json")
    return [*pieces, *tags.values()], tags


def _nllb_pieces(source: SourceDirectory) -> tuple[list[str], dict[str, str]]:
    """NLLB-200: sentencepiece's pieces, then tags like `eng_Latn` -> pieces, {language: tag}."""
    pieces, codes = tagged_pieces(source, source.file(MODEL))
    return pieces, {code: code for code in codes}


def _architecture(source: SourceDirectory, pieces: list[str]) -> ModelConfig:
    return ModelConfig(
        src_vocab_size=len(pieces),
        tgt_vocab_size=len(pieces),
        **source.sizes(),
        norm="pre",
        sinusoids="tensor2tensor",
        position_offset=_FIRST_POSITION,
        shared_embeddings="none",
        **source.special_ids(pieces),
    )
