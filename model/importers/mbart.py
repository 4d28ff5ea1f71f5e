"""mBART-50 in Hugging Face layout: many languages, learned positions, a norm on the embeddings."""

from __future__ import annotations

from pathlib import Path

from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import convert
from model.importers.pieces import (
    MODEL,
    PIECES,
    many_to_many,
    many_to_many_tokenizer,
    padded,
    tagged_pieces,
)
from model.importers.source import SourceDirectory
from model.network.config import ModelConfig
from model.values import is_whole_number, shown

_LANGUAGES = 50


def import_mbart(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    model = source.file(MODEL)
    pieces, codes = tagged_pieces(source, model)
    _refuse_mbart_25(source, codes)
    pieces, fillers = padded(pieces, source.number("vocab_size"))
    if not wanted.targets and (forced := source.generation.get("forced_bos_token_id")):
        if not is_whole_number(forced) or not 0 <= forced < len(pieces):
            raise SourceError(
                f"{source.path}: forced_bos_token_id must be a token, 0 to {len(pieces) - 1}, "
                f"got {shown(forced)}"
            )
        wanted = Wanted(wanted.sources, (pieces[forced],))
    public, pairs = many_to_many(codes, wanted)
    tokenizer = many_to_many_tokenizer({public[code]: code for code in codes}, fillers)
    architecture, weights = convert(source.weights(), _architecture(source, pieces))
    files: dict[str, Path | list[str]] = {MODEL: model, PIECES: pieces}
    return Imported(architecture, weights, tokenizer, files, pairs, source.decoding())


def _refuse_mbart_25(source: SourceDirectory, codes: list[str]) -> None:
    """mBART-25 uses another source layout: the text, eos, then the tag. The tokenizer's class
    tells, or without one the set of languages or their number."""
    name = source.tokenizer.get("tokenizer_class")
    has_50 = source.tokenizer.get("language_codes") == "ML50" or len(codes) >= _LANGUAGES
    if not (has_50 if name is None else str(name).startswith("MBart50Tokenizer")):
        raise SourceError(
            f"{source.path} is written for {shown(name or 'mBART-25')}; of mBART only mBART-50 is "
            "supported"
        )


def _architecture(source: SourceDirectory, pieces: list[str]) -> ModelConfig:
    return ModelConfig(
        src_vocab_size=len(pieces),
        tgt_vocab_size=len(pieces),
        **source.sizes(),
        norm="pre",
        positions="learned",
        embedding_norm=True,
        shared_embeddings="none",
        **source.special_ids(pieces),
    )
