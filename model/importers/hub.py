"""Download models from the Hugging Face Hub."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, get_token, hf_hub_url, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    IncompleteSnapshotError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoSibling

from model.files import FileError, read_text
from model.importers.formats import EOLE_FOLDERS
from model.importers.imported import SourceError
from model.values import is_whole_number, shown

_CARD_FILE = "README.md"
_MOST_CARD_BYTES = 2**24
_LICENCE = re.compile(r"""^license:\s*["']?([\w.-]+)""", re.MULTILINE)
_EOLE_SIDES = ("joint", *("[a-z]" * letters for letters in (2, 3)))
"""Both sides' sentencepiece model, or a side's: src, tgt or a language."""
_SMALL_FILES = [
    *("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.json", "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model"),
    *("spiece.model", "tokenization_small100.py", "adapter_config.json"),
    *(f"{folder}/{name}" for folder in EOLE_FOLDERS for name in ("config.json", "vocab.json")),
    *(f"{folder}/{name}.spm.model" for folder in EOLE_FOLDERS for name in _EOLE_SIDES),
    _CARD_FILE,
]
_EOLE_WEIGHTS = [f"{folder}/model.00.safetensors" for folder in EOLE_FOLDERS]
_SHARD = "-".join(["[0-9]" * 5, "of", "[0-9]" * 5])
"""Digits only: `*` would match a path that leaves the directory."""
_SAFETENSORS = [
    *("model.safetensors", "model.safetensors.index.json", f"model-{_SHARD}.safetensors"),
    *_EOLE_WEIGHTS,
]
_PICKLES = [
    *("pytorch_model.bin", "pytorch_model.bin.index.json", f"pytorch_model-{_SHARD}.bin"),
]
_WEIGHTS = (*_SAFETENSORS[:2], *_EOLE_WEIGHTS, *_PICKLES[:2])
_COMMIT = re.compile(r"[0-9a-f]{40}")
_WRONG = (ValueError, KeyError, TypeError, AttributeError)
"""Exceptions of the Hub's library from wrong values in an answer."""


@dataclass(frozen=True)
class HubFile:
    """A file as the Hub announces it; small ones have no SHA-256."""

    name: str
    address: str
    size: int
    sha256: str | None


@dataclass(frozen=True)
class HubModel:
    """The files for the import of a model, at a commit. `headers`: of requests for the files."""

    commit: str
    files: Sequence[HubFile]
    headers: Mapping[str, str]


def download(hub_id: str, revision: str | None = None) -> tuple[Path, str]:
    """Download a model's files for the import into the cache of the Hub's library -> their
    directory, and the commit. Raises SourceError.

    Pickles are used only without safetensors.
    """
    folder = _snapshot(hub_id, revision, _SMALL_FILES)
    for patterns in (_SAFETENSORS, _PICKLES):
        if not any((folder / name).is_file() for name in _WEIGHTS):
            _snapshot(hub_id, folder.name, patterns)
    return folder, folder.name


def look_up(hub_id: str, revision: str | None = None) -> HubModel:
    """Ask the Hub for a model's files, to download them elsewhere. Raises SourceError."""
    with _named_errors(hub_id, revision):
        api = HfApi()
        info = api.model_info(hub_id, revision=revision, files_metadata=True)
        if info.gated:
            api.auth_check(hub_id)
        commit = info.sha or ""
        if not _COMMIT.fullmatch(commit):
            raise ValueError(f"{shown(commit)} is no commit")
        announced = {file.rfilename: file for file in info.siblings or []}
        weights = _matching(announced, _SAFETENSORS) or _matching(announced, _PICKLES)
        names = [*_matching(announced, _SMALL_FILES), *weights]
        files = [_hub_file(hub_id, commit, announced[name]) for name in names]
        headers = {"Authorization": f"Bearer {token}"} if (token := get_token()) else {}
        return HubModel(commit, files, headers)


def _matching(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _hub_file(hub_id: str, commit: str, file: RepoSibling) -> HubFile:
    if not is_whole_number(file.size) or file.size < 0:
        raise ValueError(f"{file.rfilename} has the size {shown(file.size)}")
    address = hf_hub_url(hub_id, file.rfilename, revision=commit)
    return HubFile(file.rfilename, address, file.size, file.lfs.sha256 if file.lfs else None)


def licence_of(folder: Path) -> str | None:
    """The licence that the card of a downloaded model names, if it does."""
    try:
        named = _LICENCE.search(read_text(folder / _CARD_FILE, _MOST_CARD_BYTES))
    except FileError:
        return None
    return named.group(1) if named else None


def _snapshot(hub_id: str, revision: str | None, files: list[str]) -> Path:
    with _named_errors(hub_id, revision):
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=files))


@contextlib.contextmanager
def _named_errors(hub_id: str, revision: str | None) -> Iterator[None]:
    """Turn errors of the Hub's library into SourceError."""
    where = f"model {hub_id}" + (f" at revision {revision}" if revision else "")
    try:
        yield
    except GatedRepoError as error:
        raise SourceError(
            f"the Hub's {where} asks for its terms to be accepted first: accept them on its page, "
            "and set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise SourceError(f"the Hub has no {where}") from error
    except RepositoryNotFoundError as error:
        raise SourceError(
            f"there is no directory {hub_id} here, and the Hub has no {where}, or it is private"
        ) from error
    except HFValidationError as error:
        raise SourceError(f"{hub_id!r} is no name that the Hub can have: {error}") from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, httpx2.HTTPError) as error:
        raise SourceError(
            f"there is no directory {hub_id} here, and the Hub cannot be reached for {where}, "
            "and no whole copy of it is cached"
        ) from error
    except (HfHubHTTPError, IncompleteSnapshotError, OSError) as error:
        raise SourceError(f"cannot download {where}: {error}") from error
    except _WRONG as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise SourceError(f"the Hub does not describe its {where}: {reason}") from error
