"""Resolve `--model`: a checkpoint, bundled or not, or a foreign model that is imported on first
use."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import httpx
from huggingface_hub import snapshot_download
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

from model.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.files import FileError, read_json, reason_of
from model.importers.convert import import_model
from model.importers.fairseq import find_archive
from model.importers.imported import SourceError, Wanted
from model.values import shown

_MOST_JSON_BYTES = 2**24
_SMALL_FILES = [
    *("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.json", "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model"),
]
_SAFETENSORS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]
_PICKLES = ["pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def resolve_checkpoint(source: Path) -> Path:
    """The checkpoint directory for `source`; a foreign model is imported into the cache once.

    A bundled checkpoint's name resolves to it, unless a file or directory has that name. A path
    that is not a foreign model is returned unchanged; the loader checks it. Raises SourceError.
    """
    try:
        is_here = source.exists()
    except OSError as error:
        raise SourceError(f"cannot read {shown(str(source))}: {reason_of(error)}") from error
    if not is_here and str(source) in BUNDLED_NAMES:
        return bundled_checkpoint(str(source))
    if not is_here and is_hub_id(str(source)):
        directory, commit = download(str(source))
        origin = {"source": str(source), "revision": commit}
        return _cached(directory, "--".join([*source.parts, commit]), origin)
    if _is_foreign(source):
        return _cached(source, f"{source.stem}--{_fingerprint(source)}", {"source": source.name})
    return source


def import_source(source: str, destination: Path, revision: str | None, wanted: Wanted) -> None:
    """Write a directory, fairseq archive or Hub model as the checkpoint `destination`.

    Raises SourceError and leaves no files then.
    """
    path = Path(source)
    if path.exists():
        if revision is not None:
            raise SourceError(f"{source} is on this machine, which has no revision {revision!r}")
        import_model(path, destination, {"source": path.name}, wanted)
    elif is_hub_id(source):
        directory, commit = download(source, revision)
        origin = {"source": source, "revision": commit}
        import_model(directory, destination, origin, wanted)
    else:
        raise SourceError(
            f"{source} is neither a file or directory here nor a Hub id (owner/model)"
        )


def cache_directory() -> Path:
    """The directory of imported models, in the user's XDG cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman"


def _cached(source: Path, key: str, origin: dict[str, str]) -> Path:
    destination = cache_directory() / key
    if not destination.exists():
        try:
            import_model(source, destination, origin, Wanted())
        except SourceError:
            if not destination.exists():  # another process may have imported it
                raise
    return destination


def _is_foreign(source: Path) -> bool:
    """Whether it is another family's model and not a checkpoint, intact or not."""
    config = source / "config.json"
    if not config.is_file():
        return find_archive(source) is not None
    try:
        parsed = read_json(config, _MOST_JSON_BYTES)
    except FileError:
        return False
    return isinstance(parsed, dict) and "model_type" in parsed


def _fingerprint(source: Path) -> str:
    """A key from the path, names, sizes and times of the files."""
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((source.resolve(), stats)).encode()).hexdigest()[:16]


def is_hub_id(name: str) -> bool:
    """Whether the name has the form owner/model."""
    return _HUB_ID.fullmatch(name) is not None


def download(hub_id: str, revision: str | None = None) -> tuple[Path, str]:
    """Download a model's files for the import -> their directory, and the commit.

    Pickles are used only without safetensors. Raises SourceError.
    """
    folder = _snapshot(hub_id, revision, _SMALL_FILES)
    for patterns in (_SAFETENSORS, _PICKLES):
        if not any((folder / name).is_file() for name in (*_SAFETENSORS[:2], *_PICKLES[:2])):
            _snapshot(hub_id, folder.name, patterns)
    return folder, folder.name


def _snapshot(hub_id: str, revision: str | None, files: list[str]) -> Path:
    where = f"model {hub_id}" + (f" at revision {revision}" if revision else "")
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=files))
    except GatedRepoError as error:
        raise SourceError(f"the Hub's {where} asks for its terms to be accepted first") from error
    except RevisionNotFoundError as error:
        raise SourceError(f"the Hub has no {where}") from error
    except RepositoryNotFoundError as error:
        raise SourceError(
            f"there is no directory {hub_id} here, and the Hub has no {where}, or it is private"
        ) from error
    except HFValidationError as error:
        raise SourceError(f"{hub_id!r} is no name that the Hub can have: {error}") from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, httpx.HTTPError) as error:
        raise SourceError(
            f"there is no directory {hub_id} here, and the Hub cannot be reached for {where}, "
            "and no whole copy of it is cached"
        ) from error
    except (HfHubHTTPError, IncompleteSnapshotError, OSError) as error:
        raise SourceError(f"cannot download {where}: {error}") from error
