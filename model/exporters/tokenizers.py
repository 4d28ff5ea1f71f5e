"""Write tokenizer files for transformers' own classes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from model.checkpoint.reference import Checkpoint

_M2M_TAG, _NLLB_TAG = re.compile(r"__\w+__"), re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")
_MODEL = "sentencepiece.bpe.model"
_NUM_WMT21 = 8


class ExportError(ValueError):
    """The format cannot hold the checkpoint; the message gives the value and the allowed ones."""


def write_marian_tokenizer(directory: Path, checkpoint: Checkpoint, source: Path) -> None:
    """Write MarianTokenizer's files; text selects the target language as in ">>de<< text"."""
    config, tokenizer = checkpoint.info.tokenizer, checkpoint.tokenizer
    if "eos" not in config.source_layout:
        raise ExportError(
            "MarianTokenizer ends every source with </s>, this checkpoint's source_layout is "
            f"{list(config.source_layout)}"
        )
    shutil.copyfile(source / config.source, directory / "source.spm")
    shutil.copyfile(source / config.target, directory / "target.spm")
    languages = checkpoint.info.languages.codes
    tags = {tokenizer.tag(code): f">>{code}<<" for code in languages if code not in config.tags}
    src, tgt = tokenizer.source_pieces, tokenizer.target_pieces
    write_json(directory / "vocab.json", _numbered([tags.get(p, p) for p in src]))
    has_two = checkpoint.info.architecture.shared_embeddings != "all"
    if has_two:
        write_json(directory / "target_vocab.json", _numbered(tgt))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": has_two,
        "source_lang": _only(pair[0] for pair in checkpoint.info.pairs),
        "target_lang": _only(pair[1] for pair in checkpoint.info.pairs),
        "model_max_length": checkpoint.info.architecture.max_positions,
    }
    write_json(directory / "tokenizer_config.json", settings)


def write_m2m_100_tokenizer(directory: Path, checkpoint: Checkpoint, source: Path) -> None:
    """Write M2M100Tokenizer's, SMALL100Tokenizer's or NllbTokenizer's files, depending on the
    tags."""
    config, pieces = checkpoint.info.tokenizer, checkpoint.tokenizer.source_pieces
    tags = sorted(config.tags.values(), key=pieces.index)
    shutil.copyfile(source / config.source, directory / _MODEL)
    if tags and all(map(_M2M_TAG.fullmatch, tags)):
        own = pieces[: pieces.index(tags[0])]
        write_json(directory / "vocab.json", _numbered(own))
        settings: dict[str, Any] = {
            "tokenizer_class": "M2M100Tokenizer" if config.target_layout else "SMALL100Tokenizer",
            "language_codes": "wmt21" if len(tags) == _NUM_WMT21 else "m2m100",
            "num_madeup_words": len(pieces) - len(own) - len(tags),
        }
    elif tags and all(map(_NLLB_TAG.fullmatch, tags)):
        added = range(pieces.index(tags[0]), pieces.index("<mask>") + 1)
        numbered = {str(i): {"content": pieces[i], "special": True} for i in added}
        settings = {
            "tokenizer_class": "NllbTokenizer",
            "additional_special_tokens": tags,
            "added_tokens_decoder": numbered,
        }
    else:
        raise ExportError(
            "format 'm2m_100' needs M2M-100's tags (__en__) or NLLB-200's (eng_Latn), "
            f"this checkpoint has {', '.join(tags[:2]) or 'none of its own'}"
        )
    write_json(directory / "tokenizer_config.json", settings)


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value in UTF-8."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(pieces)}


def _only(codes: Iterable[str]) -> str:
    """The only language of a side, or "mul" for several."""
    different = set(codes)
    return different.pop() if len(different) == 1 else "mul"
