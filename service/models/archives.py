"""Unpack zip and tar archives of unknown origin: within bounds, and only files and directories."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import SEEK_SET, BufferedIOBase
from pathlib import Path
from typing import IO, Any

from model.files import reason_of
from model.values import shown
from service.models.sizing import shown_bytes
from service.models.store import StoreError

_MOST_ENTRIES = 1000
_MOST_READ = 2**18
"""The most bytes of one read. Files are read in smaller parts; a longer header is refused."""
_PART = 2**16
_MOST_PARTS_AFTER = 16
_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""How compressed tar archives begin, and what opens them."""
_ZIP = b"PK"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others are unpacked without a bound."""
_ENCRYPTED = 1
_FILE_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)
_WRONG = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(ValueError, LookupError, RuntimeError, OverflowError),
)
"""Exceptions of the standard library from damaged archives."""
_WRONG_NUMBERS = (None, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR)
"""Numbers of an OSError that the archive caused, not the machine."""


class ArchiveError(StoreError):
    """The archive can never be unpacked."""


@dataclass(frozen=True)
class _Entry:
    """A file of an archive, or a directory, whose `content` is None."""

    name: str
    num_bytes: int
    content: IO[bytes] | None


def unpack(archive: Path, name: str, directory: Path, most_bytes: int) -> None:
    """Unpack a zip or tar archive into an empty directory; `name` is for messages.

    Raises ArchiveError if it is damaged, or if an entry is a link or a device or would lie
    elsewhere; StoreError if it has more than `most_bytes` or than the disk has free; OSError.
    """
    room = min(most_bytes, shutil.disk_usage(directory).free)
    try:
        with _entries(archive) as entries:
            _write(entries, directory.resolve(), room)
    except StoreError as error:
        raise type(error)(f"{name} cannot be unpacked: {error}") from error
    except _WRONG as error:
        raise _damaged(name, error) from error
    except OSError as error:
        if error.errno not in _WRONG_NUMBERS:
            raise
        raise _damaged(name, error) from error


def _damaged(name: str, error: Exception) -> ArchiveError:
    reason = " ".join(reason_of(error).split()) or type(error).__name__
    return ArchiveError(f"{name} cannot be unpacked: {reason}")


def _write(entries: Iterable[_Entry], directory: Path, room: int) -> None:
    num_bytes = 0
    for count, entry in enumerate(entries, 1):
        if count > _MOST_ENTRIES:
            raise ArchiveError(f"it has more than {_MOST_ENTRIES} files")
        num_bytes += entry.num_bytes
        if num_bytes > room:
            raise StoreError(
                f"its files have more than {shown_bytes(room)}, the least of --max-size and what "
                "the disk has free"
            )
        path = (directory / entry.name).resolve()
        if not path.is_relative_to(directory):
            raise ArchiveError(f"{shown(entry.name)} would lie outside the directory")
        (path if entry.content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if entry.content is not None:
            with entry.content as source, path.open("xb") as target:
                shutil.copyfileobj(source, target, _PART)


@contextlib.contextmanager
def _entries(archive: Path) -> Iterator[Iterable[_Entry]]:
    with archive.open("rb") as file:
        start = file.read(len(max(_OPENERS, key=len)))
        if start.startswith(_ZIP):
            with zipfile.ZipFile(_Bounded(file)) as opened:
                yield map(lambda info: _zip_entry(opened, info), opened.infolist())
            return
    openers = (opener for first, opener in _OPENERS.items() if start.startswith(first))
    with next(openers, lambda path: path.open("rb"))(archive) as file:
        yield _tar_entries(_Bounded(file))


def _zip_entry(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Entry:
    if stat.S_IFMT(info.external_attr >> 16) not in _FILE_KINDS:
        raise _odd(info.filename)
    if info.is_dir():
        return _Entry(info.filename, 0, None)
    if info.flag_bits & _ENCRYPTED:
        raise ArchiveError(f"{shown(info.filename)} is encrypted")
    if info.compress_type not in _ZIP_METHODS:
        raise ArchiveError(f"{shown(info.filename)} is not compressed with deflate")
    return _Entry(info.filename, info.file_size, opened.open(info))


def _tar_entries(file: _Bounded) -> Iterator[_Entry]:
    try:
        opened = tarfile.TarFile(fileobj=file)
    except tarfile.ReadError as error:
        raise ArchiveError(f"it is no zip or tar archive ({error})") from error
    for info in opened:
        if not (info.isdir() or info.isreg()) or info.issparse() or info.size < 0:
            raise _odd(info.name)
        num_bytes = info.size if info.isreg() else 0
        yield _Entry(info.name, num_bytes, opened.extractfile(info))
    _read_rest(file)


def _odd(name: str) -> ArchiveError:
    return ArchiveError(f"{shown(name)} is neither a file nor a directory")


def _read_rest(file: _Bounded) -> None:
    """Read to the end of the compressed file, where its checksum is compared: the tar archive in it
    ends earlier."""
    for _ in range(_MOST_PARTS_AFTER):
        if not file.read(_PART):
            return
    raise ArchiveError("it goes on after its end")


class _Bounded(BufferedIOBase):
    """A file of bounded reads: its archive says how long a header is, and a reader asks for all of
    it at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        most = _MOST_READ + 1
        data = self._file.read(most if size is None or size < 0 else min(size, most))
        if len(data) > _MOST_READ:
            raise ArchiveError("it has a header of more than 256 KiB")
        return data

    def seek(self, offset: int, whence: int = SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True
