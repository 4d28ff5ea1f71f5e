"""Download models from the Hugging Face Hub."""

from __future__ import annotations

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

from model.importers.imported import SourceError

_SMALL_FILES = [
    *("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.json", "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model"),
]
_SAFETENSORS = ["model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors"]
_PICKLES = ["pytorch_model.bin", "pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"]


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
