"""Marian models in Hugging Face layout (Helsinki-NLP/opus-mt-*): one pair, or tagged targets.

Also reads `pegasus`, the same network with pre-norm, if it has a Marian tokenizer: the form in
which `dragoman export` writes pre-norm checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from model.importers.imported import Imported, SourceError, Wanted
from model.importers.names import convert
from model.importers.pieces import (
    listed,
    one_language,
    padded,
    pairs_of,
    resolved,
)
from model.importers.source import SourceDirectory
from model.network.config import ModelConfig, Norm
from model.text.languages import Languages, Pairs
from model.text.tags import public_codes
from model.text.tokenizer_config import TokenizerConfig

SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
_NORMS: dict[str, Norm] = {"marian": "post", "pegasus": "pre"}


class _Side(NamedTuple):
    """One side's vocabulary: the stored file name, its pieces, and the padding pieces."""

    file: str
    pieces: list[str]
    fillers: tuple[str, ...]


def import_marian(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model; raises SourceError."""
    if source.config["model_type"] == "pegasus" and not source.has(SOURCE_MODEL):
        raise SourceError(
            f"{source.path} holds a Pegasus model, which summarises; of pegasus only what "
            "`dragoman export` writes is supported"
        )
    models = {name: source.file(name) for name in (SOURCE_MODEL, TARGET_MODEL)}
    src, tgt = _sides(source)
    found = [piece for piece in src.pieces if piece.startswith(">>") and piece.endswith("<<")]
    tags, pairs = _languages(source, found, wanted)
    other_tags = [tag for tag in found if tag not in tags.values()]
    tokenizer = TokenizerConfig(
        SOURCE_MODEL,
        TARGET_MODEL,
        src.file,
        tgt.file,
        normalization="none",
        source_layout=("target_tag", "text", "eos") if found else ("text", "eos"),
        tags=tags,
        control=tuple(dict.fromkeys([*other_tags, *src.fillers, *tgt.fillers])),
    )
    architecture, weights = convert(source.weights(), _architecture(source, src, tgt))
    files: dict[str, Path | list[str]] = {**models, src.file: src.pieces, tgt.file: tgt.pieces}
    return Imported(architecture, weights, tokenizer, files, pairs, source.decoding())


def _sides(source: SourceDirectory) -> tuple[_Side, _Side]:
    src = _side(source, "vocab.json", "vocab_size", "vocabulary.json")
    if not source.tokenizer.get("separate_vocabs"):
        return src, src
    return src, _side(source, "target_vocab.json", "decoder_vocab_size", "target_vocabulary.json")


def _side(source: SourceDirectory, file: str, size: str, stored_as: str) -> _Side:
    pieces = listed(source.json(source.file(file).name), source.path / file)
    return _Side(stored_as, *padded(pieces, source.number(size)))


def _architecture(source: SourceDirectory, src: _Side, tgt: _Side) -> ModelConfig:
    return ModelConfig(
        src_vocab_size=len(src.pieces),
        tgt_vocab_size=len(tgt.pieces),
        **source.sizes(),
        norm=_NORMS[source.config["model_type"]],
        sinusoids="halves",
        shared_embeddings="none",
        **source.special_ids(tgt.pieces),
    )


def _languages(
    source: SourceDirectory, found: list[str], wanted: Wanted
) -> tuple[dict[str, str], Pairs]:
    """The tag of each target language, and the pairs."""
    sources = _untold(source, "source_lang", wanted.sources, "--source-lang")
    if not found:
        targets = _untold(source, "target_lang", wanted.targets, "--target-lang")
        return {}, pairs_of(sources, targets)
    return tagged_pairs(found, sources, wanted.targets)


def tagged_pairs(
    found: Sequence[str], sources: Sequence[str], targets: Sequence[str]
) -> tuple[dict[str, str], Pairs]:
    """The language of each of the tags `found`, and the pairs of all or of the user's `targets`."""
    public = public_codes([tag[2:-2] for tag in found])
    known = Languages(public.values(), public)
    chosen = resolved(known, targets) or known.codes
    return {code: f">>{own}<<" for own, code in public.items()}, pairs_of(sources, chosen)


def _untold(
    source: SourceDirectory, key: str, wanted: tuple[str, ...], flag: str
) -> tuple[str, ...]:
    """The user's languages, or the only one in the tokenizer's configuration."""
    if wanted:
        return tuple(public_codes(wanted).values())
    if told := one_language(source.tokenizer.get(key)):
        return (told,)
    raise SourceError(
        f"{source.path} does not say its language: {key} is {source.tokenizer.get(key)!r}; "
        f"name it with {flag}"
    )
