"""Fetch, convert and check a model, and put it into the store."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from model.backends.devices import has_pytorch
from model.checkpoint import CheckpointError, open_checkpoint
from model.checkpoint.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.importers.hub import licence_of, look_up
from model.importers.imported import SourceError, Wanted
from model.importers.resolve import is_foreign, is_hub_id
from service.models.archives import ArchiveError, unpack
from service.models.downloads import Download, download_rest, require_room, require_sum
from service.models.store import ModelStore, StoredModel, StoreError

_FOLDERS = 3
"""How deep in an archive a model may lie."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Source:
    """Where a model comes from. `max_bytes`: of a download, and of what is unpacked; `sha256`: of
    an archive at an address; `revision`: of a Hub model; `is_replacing`: it may take the place of a
    model from elsewhere."""

    name: str
    max_bytes: int
    sha256: str | None = None
    revision: str | None = None
    is_replacing: bool = False
    wanted: Wanted = field(default_factory=Wanted)


@dataclass(frozen=True)
class _Fetched:
    """The files of a model. `owner`: as of `ModelStore.put`; `download`: what is removed once the
    model is in the store."""

    directory: Path
    origin: dict[str, str]
    owner: str = ""
    download: Path | None = None


def pull(store: ModelStore, source: Source) -> StoredModel:
    """Fetch, convert and check a model, and put it into the store in one step. Raises ValueError
    with one sentence, OSError, or ModuleNotFoundError if it must be converted and PyTorch is not
    installed; what was downloaded then stays, and the same call goes on."""
    with store.scratch() as scratch:
        fetched = _fetch(store, source, scratch)
        checkpoint = scratch / "checkpoint"
        try:
            _convert(fetched, checkpoint, source.wanted)
        except (CheckpointError, SourceError) as error:
            raise StoreError(_about(source.name, str(error), fetched, checkpoint)) from error
        model = store.put(checkpoint, fetched.owner, is_replacing=source.is_replacing)
        if fetched.download is not None:
            _remove(fetched.download)
        return model


def _convert(fetched: _Fetched, checkpoint: Path, wanted: Wanted) -> None:
    if is_foreign(fetched.directory):
        from model.importers.convert import import_model

        import_model(fetched.directory, checkpoint, fetched.origin, wanted)
    else:
        checkpoint.mkdir()
        for file in fetched.directory.iterdir():
            if file.is_file():
                shutil.copyfile(file, checkpoint / file.name)
    _check(checkpoint)


def _check(checkpoint: Path) -> None:
    """Without PyTorch as a server does that loads it, else its translations too."""
    if not has_pytorch():
        open_checkpoint(checkpoint)
        return
    from model.trials.checkpoint import check_checkpoint

    check_checkpoint(checkpoint)


def _fetch(store: ModelStore, source: Source, scratch: Path) -> _Fetched:
    name = source.name
    is_here = Path(name).exists()
    if urlsplit(name).scheme in ("file", "http", "https"):
        return _from_address(store, source, scratch / "unpacked")
    if is_here or name in BUNDLED_NAMES:
        path = Path(name) if is_here else bundled_checkpoint(name)
        return _Fetched(path, {"source": path.resolve().name})
    if is_hub_id(name):
        return _from_hub(store, source)
    raise StoreError(
        f"{name} is neither a Hub id (owner/model), a bundled model, a directory here nor an "
        "address (https: or file:)"
    )


def _from_hub(store: ModelStore, source: Source) -> _Fetched:
    owner, _, name = source.name.partition("/")
    if not has_pytorch():  # to convert it, once it is downloaded
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    if not source.is_replacing:
        store.require_owner(name, owner)
    model = look_up(source.name, source.revision)
    download = store.downloads / f"{owner}--{name}"
    directory = download / model.commit
    directory.mkdir(parents=True, exist_ok=True)
    size = sum(file.size for file in model.files)
    there = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    require_room(directory, source.name, size, there, source.max_bytes)
    for file in model.files:
        path = directory / file.name
        wanted = Download(file.address, path, file.sha256, file.size, model.headers)
        download_rest(wanted, source.max_bytes)
    origin = {"source": source.name, "revision": model.commit}
    if licence := licence_of(directory):
        origin["licence"] = licence
    return _Fetched(directory, origin, owner, download)


def _from_address(store: ModelStore, source: Source, directory: Path) -> _Fetched:
    """Its origin has nothing of the address that may be a secret, because others read it."""
    name, address = source.name, urlsplit(source.name)
    expected = (source.sha256 or "").lower()
    if not _SHA256.fullmatch(expected):
        raise StoreError(f"{name} needs its SHA-256 (--sha256), 64 hexadecimal digits")
    told = address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="")
    origin = {"source": _stem(address.path), "address": told.geturl(), "sha256": expected}
    directory.mkdir()
    if address.scheme == "file":
        archive = Path(url2pathname(address.path))
        require_sum(name, archive, expected)
        return _Fetched(_unpacked(archive, source, directory), origin)
    archive = store.downloads / expected
    download_rest(Download(name, archive, expected), source.max_bytes)
    try:
        return _Fetched(
            _unpacked(archive, source, directory), origin, address.hostname or "", archive
        )
    except ArchiveError:
        archive.unlink()
        raise


def _unpacked(archive: Path, source: Source, directory: Path) -> Path:
    """The directory of the archive's model."""
    unpack(archive, source.name, directory, source.max_bytes)
    for depth in range(_FOLDERS):
        for pattern in ("config.json", "*.pt", "*.npz", "*.bin"):
            if found := sorted(directory.glob("*/" * depth + pattern)):
                return found[0].parent
    raise ArchiveError(
        f"{source.name} holds neither config.json, a .pt archive nor a model of Marian"
    )


def _stem(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    for suffix in (".gz", ".bz2", ".xz", ".tar", ".tgz", ".zip"):
        name = name.removesuffix(suffix)
    return name


def _about(name: str, message: str, fetched: _Fetched, checkpoint: Path) -> str:
    """The message with the source's name instead of temporary directories, which the reader cannot
    look into. A directory that was named may be called as a word of the message."""
    for directory in (checkpoint, fetched.directory):
        if directory != Path(name):
            message = message.replace(str(directory), name)
    return message


def _remove(download: Path) -> None:
    if download.is_dir():
        shutil.rmtree(download)
    else:
        download.unlink()
