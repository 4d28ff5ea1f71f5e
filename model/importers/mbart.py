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


def import_mbart(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    _refuse_mbart_25(source)
    model = source.file(MODEL)
    pieces, codes = tagged_pieces(source, model)
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


def _refuse_mbart_25(source: SourceDirectory) -> None:
    """mBART-25 uses another source layout: the text, eos, then the tag."""
    name = str(source.tokenizer.get("tokenizer_class", "MBart50Tokenizer"))
    if not name.startswith("MBart50Tokenizer"):
        raise SourceError(
            f"{source.path} is written for {shown(name)}; of mBART only mBART-50 is supported"
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
