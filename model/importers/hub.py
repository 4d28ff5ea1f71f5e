"""Download models from the Hugging Face Hub."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
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

from model.files import FileError, read_text
from model.importers.imported import SourceError

_CARD_FILE = "README.md"
_MOST_CARD_BYTES = 2**24
_LICENCE = re.compile(r"""^license:\s*["']?([\w.-]+)""", re.MULTILINE)
_SMALL_FILES = [
    *("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.json", "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model"),
    _CARD_FILE,
]
_SAFETENSORS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]
_PICKLES = ["pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"]
Fetch = Callable[[str, Path, str | None, dict[str, str]], None]
"""Downloads an address to a file that may be there in part, with headers; the SHA-256 if known."""


def download(
    hub_id: str,
    revision: str | None = None,
    cache: Path | None = None,
    fetch: Fetch | None = None,
) -> tuple[Path, str]:
    """Download a model's files for the import -> their directory, and the commit.

    Pickles are used only without safetensors. `cache`: None is that of the Hub's library. `fetch`
    downloads the weights, because that library begins an interrupted file again. Raises SourceError
    and what `fetch` raises.
    """
    folder = _snapshot(hub_id, revision, _SMALL_FILES, cache)
    if fetch is not None:
        headers = {"Authorization": f"Bearer {token}"} if (token := get_token()) else {}
        for name, sha256 in _weight_files(hub_id, folder.name):
            url = hf_hub_url(hub_id, name, revision=folder.name)
            fetch(url, folder / name, sha256, headers)
        return folder, folder.name
    for patterns in (_SAFETENSORS, _PICKLES):
        if not any((folder / name).is_file() for name in (*_SAFETENSORS[:2], *_PICKLES[:2])):
            _snapshot(hub_id, folder.name, patterns, cache)
    return folder, folder.name


def _weight_files(hub_id: str, commit: str) -> list[tuple[str, str | None]]:
    """The names of the files with weights, and their SHA-256 where the Hub has it."""
    with _named_errors(hub_id, commit):
        files = HfApi().model_info(hub_id, revision=commit, files_metadata=True).siblings or []
    for patterns in (_SAFETENSORS, _PICKLES):
        found = [
            (file.rfilename, file.lfs.sha256 if file.lfs else None)
            for file in files
            if any(fnmatch(file.rfilename, pattern) for pattern in patterns)
        ]
        if found:
            return found
    return []


def licence_of(folder: Path) -> str | None:
    """The licence that the card of a downloaded model names, if it does."""
    try:
        named = _LICENCE.search(read_text(folder / _CARD_FILE, _MOST_CARD_BYTES))
    except FileError:
        return None
    return named.group(1) if named else None


def _snapshot(hub_id: str, revision: str | None, files: list[str], cache: Path | None) -> Path:
    with _named_errors(hub_id, revision):
        return Path(
            snapshot_download(hub_id, revision=revision, allow_patterns=files, cache_dir=cache)
        )


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
