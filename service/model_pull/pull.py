"""Fetch, convert and check a model, and put it into the store."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from model.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.checking import check_checkpoint
from model.files import reason_of
from model.importers.convert import import_model
from model.importers.hub import download, licence_of
from model.importers.imported import SourceError, Wanted
from model.importers.resolve import is_foreign, is_hub_id
from service.model_pull.downloads import download_rest, require_sum
from service.model_store import ModelStore, StoredModel, StoreError

_FOLDERS = 3
"""How deep in an archive a model may lie."""


@dataclass(frozen=True)
class Source:
    """Where a model comes from. `sha256`: of an archive at an address; `revision`: of a Hub
    model."""

    name: str
    sha256: str | None = None
    revision: str | None = None
    wanted: Wanted = field(default_factory=Wanted)


def pull(store: ModelStore, source: Source) -> StoredModel:
    """Fetch, convert and check a model, and put it into the store in one step. Raises ValueError
    with one sentence, or OSError; what was downloaded then stays, and the same call goes on."""
    store.directory.mkdir(parents=True, exist_ok=True)
    with store.scratch() as scratch, _fetched(store, source, scratch) as (directory, origin):
        checkpoint = scratch / "checkpoint"
        if is_foreign(directory):
            import_model(directory, checkpoint, origin, source.wanted)
        else:
            shutil.copytree(directory, checkpoint)
        check_checkpoint(checkpoint)
        return store.put(checkpoint)


@contextlib.contextmanager
def _fetched(
    store: ModelStore, source: Source, scratch: Path
) -> Iterator[tuple[Path, dict[str, str]]]:
    """The files of the model, and its origin. A download is removed after the block, unless that
    raises."""
    name, address = source.name, urlsplit(source.name)
    is_here = Path(name).exists()
    if address.scheme in ("file", "http", "https"):
        archive = _archive(store, source)
        origin = {"source": _stem(address.path), "address": name, "sha256": source.sha256 or ""}
        yield _unpacked(archive, address.path, scratch / "unpacked"), origin
        if archive.parent == store.downloads:
            archive.unlink()
    elif is_here or name in BUNDLED_NAMES:
        path = Path(name) if is_here else bundled_checkpoint(name)
        yield path, {"source": path.resolve().name}
    elif is_hub_id(name):
        cache = store.downloads / name.replace("/", "--")
        directory, commit = download(name, source.revision, cache, download_rest)
        origin = {"source": name, "revision": commit}
        if licence := licence_of(directory):
            origin["licence"] = licence
        yield directory, origin
        shutil.rmtree(cache)
    else:
        raise StoreError(
            f"{name} is neither a Hub id (owner/model), a bundled model, a directory here nor an "
            "address (https: or file:)"
        )


def _archive(store: ModelStore, source: Source) -> Path:
    """The file at the address, whose sum is right."""
    expected = (source.sha256 or "").lower()
    if len(expected) != 64:
        raise StoreError(f"{source.name} needs its SHA-256 (--sha256), 64 hexadecimal digits")
    address = urlsplit(source.name)
    if address.scheme == "file":
        path = Path(url2pathname(address.path))
        require_sum(source.name, path, expected)
        return path
    path = store.downloads / expected
    download_rest(source.name, path, expected, {})
    return path


def _stem(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    for suffix in (".gz", ".bz2", ".xz", ".tar", ".tgz", ".zip"):
        name = name.removesuffix(suffix)
    return name


def _unpacked(archive: Path, name: str, directory: Path) -> Path:
    """The directory of the archive's model; a fairseq file as it is."""
    directory.mkdir()
    formats = {s: kind for kind, suffixes, _ in shutil.get_unpack_formats() for s in suffixes}
    kind = next((formats[suffix] for suffix in formats if name.endswith(suffix)), None)
    if name.endswith(".pt"):
        return Path(shutil.copy(archive, directory / name.rsplit("/", 1)[-1]))
    if kind is None:
        known = ", ".join(sorted({*formats, ".pt"}))
        raise StoreError(f"{name} is no archive that can be unpacked: {known}")
    try:
        if kind == "zip":
            shutil.unpack_archive(archive, directory, kind)
        else:
            shutil.unpack_archive(archive, directory, kind, filter="data")
    except (shutil.ReadError, ValueError, OSError, EOFError) as error:
        raise StoreError(f"{name} cannot be unpacked: {reason_of(error)}") from error
    for depth in range(_FOLDERS):
        for pattern in ("config.json", "*.pt"):
            if found := sorted(directory.glob("*/" * depth + pattern)):
                return found[0].parent
    raise SourceError(f"{name} holds neither config.json nor a .pt archive")
