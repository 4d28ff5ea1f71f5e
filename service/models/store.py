"""The store of models: a directory that `dragoman models` fills and any number of servers read.

    NAME                 a link to the model's version, or a checkpoint that was copied here
    .versions/NAME--KEY  a version of a model; it stays until `prune`, because servers may use it;
                         of a model from elsewhere .versions/OWNER--NAME--KEY
    .downloads           what arrives; an interrupted download goes on from here
    .used/NAME           an empty file with the time of the last use, if a server may write
    .lock                locked while a process changes the store

A version is complete before its link changes, so a reader never sees half a model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from model.checkpoint import (
    CheckpointError,
    CheckpointInfo,
    read_complete,
    read_info,
    read_sums,
)
from model.checkpoint.files import SUMS_FILE
from model.values import is_file_name

_logger = logging.getLogger(__name__)
_SCRATCH = ".new-"


class StoreError(ValueError):
    """The store cannot do this; the message is one sentence."""


@dataclass(frozen=True)
class StoredModel:
    """A model of the store. `path`: of its version; `version` changes with its files; `num_bytes`:
    on disk; `used`: seconds since the epoch, None if no server told."""

    name: str
    path: Path
    info: CheckpointInfo
    version: str
    num_bytes: int
    used: float | None


class StoreContents(NamedTuple):
    """The models by name, and why others cannot be served: they are incomplete or damaged."""

    models: dict[str, StoredModel]
    faults: dict[str, str]


class ModelStore:
    """The models in a directory. Reading never writes but for `note_use`, which may fail."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.downloads = directory / ".downloads"
        self._versions, self._used = directory / ".versions", directory / ".used"
        self._lock = FileLock(directory / ".lock")
        self._known: dict[str, StoredModel] = {}

    def models(self) -> list[StoredModel]:
        """All models in order of name; those that cannot be served are logged and skipped. Raises
        OSError."""
        contents = self.contents()
        for name, reason in contents.faults.items():
            _logger.warning("the model %s is skipped: %s", name, reason)
        return list(contents.models.values())

    def contents(self) -> StoreContents:
        """What the store has now. Directories without SHA256SUMS are left out. Raises OSError."""
        models: dict[str, StoredModel] = {}
        faults: dict[str, str] = {}
        for entry in sorted(self.directory.iterdir()):
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir() and _stamp(entry / SUMS_FILE):
                    models[entry.name] = self._read(entry)
            except (CheckpointError, OSError) as error:
                faults[entry.name] = str(error)
        return StoreContents(models, faults)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty directory on the store's disk, removed at the end. Nobody else changes the store
        meanwhile. Raises OSError."""
        with self._alone():
            self._versions.mkdir(exist_ok=True)
            for left in self._versions.glob(f"{_SCRATCH}*"):  # by a process that was killed
                shutil.rmtree(left)
            with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self._versions) as name:
                yield Path(name)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until no other process changes the store. Raises OSError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            _logger.warning("waiting for another process, which changes %s", self.directory)
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def put(self, checkpoint: Path, owner: str = "", *, is_replacing: bool = False) -> StoredModel:
        """Move a complete checkpoint from `scratch` into the store, in place of an older version
        of the model. `owner`: the account or host that the model is from, empty if it is from this
        machine. Raises StoreError, also if the model is another owner's and `is_replacing` is
        false, or OSError."""
        if any(not stat.S_ISREG(file.lstat().st_mode) for file in checkpoint.iterdir()):
            raise StoreError(f"{checkpoint} may hold regular files only")
        name = read_info(checkpoint).name
        link = self.directory / name
        if not is_file_name(name) or name.startswith("."):
            raise StoreError(f"the model's name {name!r} cannot be that of a directory")
        if link.exists() and not link.is_symlink():
            raise StoreError(f"{link} was not made by `dragoman models pull`; remove it first")
        if not is_replacing:
            self.require_owner(name, owner)
        prefix = f"{owner}--{name}--" if owner else f"{name}--"
        version = Path(tempfile.mkdtemp(prefix=prefix, dir=self._versions))
        checkpoint.rename(version)
        new = checkpoint.with_name("link")
        new.symlink_to(version.relative_to(self.directory))
        new.replace(link)
        return self._read(link)

    def require_owner(self, name: str, owner: str) -> None:
        """Raises StoreError if the store has the model from another owner."""
        link = self.directory / name
        if not link.is_symlink() or not (version := link.readlink()).is_relative_to(".versions"):
            return
        present = version.name.rpartition("--")[0].removesuffix(name).removesuffix("--")
        if present != owner:
            raise StoreError(
                f"the store's model {name} is from {present or 'this machine'}, not from "
                f"{owner or 'this machine'}; `dragoman models pull --replace` replaces it"
            )

    def remove(self, name: str) -> int:
        """Remove a model with its version, also one that cannot be served; of a link to a directory
        elsewhere only the link -> its bytes. Raises StoreError or OSError."""
        with self._alone():
            models, faults = self.contents()
            if name not in {*models, *faults}:
                raise StoreError(f"there is no model {name} in {self.directory}")
            link = self.directory / name
            path = link.resolve()
            num_bytes = size_of(path)
            is_own = not link.is_symlink() or path.parent == self._versions.resolve()
            if link.is_symlink():
                link.unlink()
            if is_own:
                shutil.rmtree(path)
            (self._used / name).unlink(missing_ok=True)
        return num_bytes

    def prune(self) -> int:
        """Remove versions that no name links to, and unfinished downloads -> their bytes. Raises
        OSError."""
        with self._alone():
            kept = {entry.resolve() for entry in self.directory.iterdir()}
            versions = self._versions.iterdir() if self._versions.is_dir() else ()
            gone = [version for version in versions if version.resolve() not in kept]
            num_bytes = 0
            for directory in (*gone, self.downloads):
                num_bytes += size_of(directory)
                shutil.rmtree(directory, ignore_errors=directory is self.downloads)
        return num_bytes

    def note_use(self, name: str) -> None:
        """Keep the time of this use, unless the store is read-only."""
        with contextlib.suppress(OSError):
            self._used.mkdir(exist_ok=True)
            (self._used / name).touch()

    def _last_use(self, name: str) -> float | None:
        """None: no server told, or nobody may read what they told."""
        with contextlib.suppress(OSError):
            return (self._used / name).stat().st_mtime
        return None

    def require_current(self, model: StoredModel) -> None:
        """Raise CheckpointError if the version's files have changed."""
        if _version_of(model.path) != model.version:
            raise CheckpointError(f"the files in {model.path} have changed")

    def _read(self, entry: Path) -> StoredModel:
        """Read a model; only the time of its last use if its version was read before."""
        path = entry.resolve()
        version = _version_of(path)
        last = self._last_use(entry.name)
        known = self._known.get(entry.name)
        if known is None or known.version != version:
            info = read_complete(path)
            if info.name != entry.name:
                raise CheckpointError(f"{entry} holds a model called {info.name!r}")
            known = StoredModel(info.name, path, info, version, size_of(path), last)
        self._known[entry.name] = dataclasses.replace(known, used=last)
        return self._known[entry.name]


def _version_of(path: Path) -> str:
    """What changes with any file that SHA256SUMS lists. Raises CheckpointError."""
    return f"{path} {[_stamp(path / name) for name in (SUMS_FILE, *read_sums(path))]}"


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """What changes with the file; None: it is missing."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def size_of(directory: Path) -> int:
    """Bytes of all files; a file with several names counts once."""
    stats = {(s.st_dev, s.st_ino): s for f in directory.rglob("*") if (s := f.lstat()) is not None}
    return sum(stat.st_size for stat in stats.values())
