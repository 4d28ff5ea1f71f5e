"""Other families' vocabularies as lists of pieces, and their languages as pairs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from babel import Locale
from sentencepiece import SentencePieceProcessor

from model.importers.imported import SourceError, Wanted
from model.importers.source import SourceDirectory
from model.text.languages import LanguageError, Languages, Pairs, every_pair
from model.text.tags import public_codes
from model.text.tokenizer_config import TokenizerConfig
from model.values import is_whole_number, shown

MODEL, PIECES = "sentencepiece.bpe.model", "vocabulary.json"
"""Files of many-to-many models: the original's sentencepiece model, and our list of pieces."""
FAIRSEQ_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
_SENTENCEPIECE_SPECIALS = 3
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")
_TOKEN_ID = re.compile(r"[0-9]{1,9}", re.ASCII)
_PADDING = "madeupword{:04}"


def listed(ids: Mapping[str, Any], path: Path) -> list[str]:
    """A {piece: id} vocabulary as a list; raises SourceError unless its ids are 0, 1, 2, ..."""
    is_numbered = all(is_whole_number(number) for number in ids.values())
    pieces = sorted(ids, key=lambda piece: ids[piece]) if is_numbered else []
    if not is_numbered or [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise SourceError(f"{path} must number its pieces 0, 1, 2, ... without a gap")
    return pieces


def fairseq_pieces(model: Path) -> list[str]:
    """A sentencepiece model's pieces in fairseq's id order, with its four specials."""
    processor = load_sentencepiece(model)
    own = range(_SENTENCEPIECE_SPECIALS, processor.get_piece_size())
    return [*FAIRSEQ_SPECIALS, *(str(processor.id_to_piece(i)) for i in own)]


def load_sentencepiece(path: Path) -> SentencePieceProcessor:
    """Raises SourceError if the file is not a sentencepiece model."""
    try:
        return SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise SourceError(f"cannot read the sentencepiece model {path}: {error}") from error


def padded(pieces: Sequence[str], size: int) -> tuple[list[str], tuple[str, ...]]:
    """The pieces padded to the network's vocabulary size, and the padding pieces."""
    if len(pieces) > size:
        raise SourceError(
            f"the vocabulary has {len(pieces)} pieces, config.json says vocab_size {size}"
        )
    taken = set(pieces)
    names = (name for i in range(size) if (name := _PADDING.format(i)) not in taken)
    added = tuple(name for name, _ in zip(names, range(size - len(pieces)), strict=False))
    return [*pieces, *added], added


def tagged_pieces(source: SourceDirectory, model: Path) -> tuple[list[str], list[str]]:
    """A sentencepiece model's pieces, then the languages' codes and <mask> -> pieces, codes.

    The order comes from the ids in the tokenizer's configuration, or else from its list.
    """
    pieces = fairseq_pieces(model)
    numbered = source.tokenizer.get("added_tokens_decoder", {})
    if not isinstance(numbered, dict) or not all(map(_TOKEN_ID.fullmatch, numbered)):
        raise SourceError(
            f"{source.path}: added_tokens_decoder must map ids to tokens, got {shown(numbered)}"
        )
    tokens_by_id = {int(i): _content(token) for i, token in numbered.items()}
    added = {i: token for i, token in tokens_by_id.items() if i >= len(pieces)}
    if not any(map(_LANGUAGE_CODE.fullmatch, added.values())):
        added = dict(enumerate([*_listed_codes(source), "<mask>"], len(pieces)))
    if sorted(added) != list(range(len(pieces), len(pieces) + len(added))):
        raise SourceError(
            f"{source.path}: added_tokens_decoder must number on from {len(pieces)}, "
            f"the size of {model.name}, got {min(added)} to {max(added)}"
        )
    tokens = [added[i] for i in sorted(added)]
    return [*pieces, *tokens], [token for token in tokens if _LANGUAGE_CODE.fullmatch(token)]


def _listed_codes(source: SourceDirectory) -> list[str]:
    for table in (source.json("special_tokens_map.json"), source.tokenizer):
        for key in ("additional_special_tokens", "extra_special_tokens"):
            tokens = [_content(token) for token in _listed(table.get(key))]
            if codes := [token for token in tokens if _LANGUAGE_CODE.fullmatch(token)]:
                return codes
    raise SourceError(
        f"{source.path} names no languages: neither special_tokens_map.json nor "
        "tokenizer_config.json has additional_special_tokens"
    )


def _listed(tokens: object) -> list[object]:
    return list(tokens) if isinstance(tokens, list | dict) else []


def many_to_many(own_codes: Sequence[str], wanted: Wanted) -> tuple[dict[str, str], Pairs]:
    """Public codes of all languages -> {own: public}, and the wanted pairs."""
    public = public_codes(own_codes)
    known = Languages(public.values(), public)
    sources = resolved(known, wanted.sources) or known.codes
    targets = resolved(known, wanted.targets) or known.codes
    return public, pairs_of(sources, targets)


def many_to_many_tokenizer(tags: Mapping[str, str], fillers: Sequence[str]) -> TokenizerConfig:
    """A source begins with the tag of its language, a translation with that of the target."""
    return TokenizerConfig(
        MODEL,
        MODEL,
        PIECES,
        PIECES,
        normalization="none",
        source_layout=("source_tag", "text", "eos"),
        target_layout=("target_tag",),
        tags=tags,
        control=("<mask>", *fillers),
    )


def resolved(known: Languages, codes: Iterable[str]) -> list[str]:
    """Public codes of the user's codes."""
    try:
        return [known.resolve(code) for code in codes]
    except LanguageError as error:
        raise SourceError(str(error)) from error


def pairs_of(sources: Iterable[str], targets: Iterable[str]) -> Pairs:
    """Every source with every other target; SourceError if no pair is left."""
    if pairs := every_pair(sources, targets):
        return pairs
    raise SourceError("no language pair is left: source and target languages are the same one")


def one_language(code: object) -> str | None:
    """The code if it is one language; None for groups such as "roa" and for unknown codes."""
    if not isinstance(code, str) or code == "mul":
        return None
    (public,) = public_codes([code]).values()
    is_known = public.split("-")[0] in Locale("en").languages
    return public if is_known else None


def _content(token: object) -> str:
    return str(token.get("content")) if isinstance(token, Mapping) else str(token)
