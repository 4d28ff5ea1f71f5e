"""The result of an importer, the user's choice of languages, and the error of all importers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model.decoding.options import DecodingOptions
from model.network.config import ModelConfig
from model.text.languages import Pairs
from model.text.tokenizer_config import TokenizerConfig

if TYPE_CHECKING:
    from torch import Tensor

_NPZ_START, _BIN_START = b"PK", (1).to_bytes(8, "little")


class SourceError(ValueError):
    """The model cannot be imported; the message gives the value found and the supported ones."""


@dataclass(frozen=True)
class Wanted:
    """The user's languages: those to keep, or those that the model's files do not state."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Imported:
    """A foreign model in our terms.

    `files` maps checkpoint names to tokenizer files, which are copied, or to lists for JSON.
    `shortlist` is the content of the file of that name.
    """

    architecture: ModelConfig
    weights: dict[str, Tensor]
    tokenizer: TokenizerConfig
    files: Mapping[str, Path | list[str]]
    pairs: Pairs
    decoding: DecodingOptions
    shortlist: bytes | None = None


def find_archive(path: Path) -> Path | None:
    """The .pt file at or in `path`; None if it is missing, SourceError if there are several."""
    if path.is_file() and path.suffix == ".pt":
        return path
    found = sorted(path.glob("*.pt")) if path.is_dir() else []
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise SourceError(f"{path} holds several .pt files ({names}); name the one to import")
    return found[0] if found else None


def find_marian_models(path: Path) -> list[Path]:
    """The files of a directory that Marian wrote as models, by their first bytes."""
    files = [*path.glob("*.npz"), *path.glob("*.bin")] if path.is_dir() else []
    return sorted(file for file in files if _is_marian_model(file))


def _is_marian_model(file: Path) -> bool:
    """Not the state of the optimiser, and no lexical shortlist."""
    if not file.is_file() or file.name.endswith(".optimizer.npz"):
        return False
    start = _NPZ_START if file.suffix == ".npz" else _BIN_START
    with file.open("rb") as opened:
        return opened.read(len(start)) == start
