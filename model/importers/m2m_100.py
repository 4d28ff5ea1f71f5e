"""M2M-100 and NLLB-200 in Hugging Face layout: many languages, each with a tag on both sides."""

from __future__ import annotations

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
from model.values import shown

_FIRST_POSITION = 2
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
    architecture, weights = convert(source.weights(), _architecture(source, pieces))
    files: dict[str, Path | list[str]] = {MODEL: model, PIECES: pieces}
    return Imported(architecture, weights, tokenizer, files, pairs, source.decoding())


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
