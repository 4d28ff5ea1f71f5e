"""gzip and zstd: files of frames, each of which can be read without the others."""

from __future__ import annotations

import gzip
import importlib
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, cast

from service import install_command

Compression = Literal["none", "gzip", "zstd"]
_ENDINGS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_GZIP_MARK, _ZSTD_MARK = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPED_MARKS = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
"""A zstd file may begin with a frame to skip (RFC 8878, section 3.1.2)."""
_UNREAD = {
    "bzip2": tuple(b"BZh%d1AY" % size for size in range(1, 10)),
    "xz": (b"\xfd7zXZ",),
    "UTF-16": (b"\xff\xfe", b"\xfe\xff"),
}
_MARK_BYTES = 8
_GZIP_LEVEL = 6
_ZLIB_HEADER_OF_GZIP = 31
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_BLOCK_BYTES = 2**20
_MOST_FRAME_BYTES = 2**28
_LONGEST_WINDOW = 31
"""As of `zstd --long=31`: 2 GiB of memory, which only such files take."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def compression_of(path: Path | None) -> Compression:
    """By the ending of a file's name; standard output is not compressed. Raises ValueError if a
    package is missing."""
    found = _ENDINGS.get(path.suffix.lower(), "none") if path else "none"
    if found == "zstd":
        _zstd()
    return found


def decompressed(file: BufferedReader) -> BinaryIO:
    """What a file contains; its first bytes tell whether it is compressed. Raises ValueError if a
    package is missing, or it is not read."""
    mark = file.peek(_MARK_BYTES)
    if mark.startswith(_GZIP_MARK):
        return cast(BinaryIO, gzip.open(file))
    if mark.startswith((_ZSTD_MARK, *_SKIPPED_MARKS)):
        longest = {_zstd().DecompressionParameter.window_log_max: _LONGEST_WINDOW}
        return cast(BinaryIO, _zstd().open(file, options=longest))
    for kind, marks in _UNREAD.items():
        if mark.startswith(marks):
            raise ValueError(f"it is {kind}; a corpus is UTF-8, as it is or in gzip or zstd")
    return file


def read_errors() -> tuple[type[Exception], ...]:
    """What damaged files raise."""
    errors = [OSError, EOFError, zlib.error]
    try:
        return (*errors, _zstd().ZstdError)
    except ValueError:
        return (*errors,)


def frame(compression: Compression, content: bytes) -> bytes:
    """A frame, the same for the same content."""
    if compression == "gzip":
        return gzip.compress(content, _GZIP_LEVEL, mtime=0)
    if compression == "zstd":
        return cast(bytes, _zstd().compress(content))
    return content


def whole_frames(compression: Compression, file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The content of each frame and where it ends, up to one that is not whole; uncompressed, of
    some whole lines. Raises ValueError if they are damaged, or too large to be of `frame`."""
    if compression == "none":
        return _whole_lines(file)
    if compression == "gzip":
        return _frames(file, lambda: zlib.decompressobj(_ZLIB_HEADER_OF_GZIP))
    return _frames(file, _zstd().ZstdDecompressor)


def _frames(file: BinaryIO, start: Callable[[], _Decompressor]) -> Iterator[tuple[bytes, int]]:
    end, rest, damaged = 0, b"", read_errors()
    while True:
        decompressor, content, taken = start(), bytearray(), 0
        while not decompressor.eof:
            if not (block := rest or file.read(_BLOCK_BYTES)):
                return
            try:
                content += decompressor.decompress(block)
            except damaged as error:
                raise ValueError(f"it is damaged after byte {end}; cut it there") from error
            taken, rest = taken + len(block), b""
            _require_bounded(content)
        rest = decompressor.unused_data
        end += taken - len(rest)
        yield bytes(content), end


def _whole_lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    end, rest = 0, b""
    while block := file.read(_BLOCK_BYTES):
        content = rest + block
        cut = content.rfind(b"\n") + 1
        end, rest = end + cut, content[cut:]
        _require_bounded(rest)
        if cut:
            yield content[:cut], end


def _require_bounded(content: bytes | bytearray) -> None:
    if len(content) > _MOST_FRAME_BYTES:
        raise ValueError("it has longer frames than this command writes")


def _zstd() -> Any:
    """The module, which Python has from 3.14 on. Raises ValueError."""
    try:
        return importlib.import_module(ZSTD)
    except ModuleNotFoundError as error:
        raise ValueError(f"zstd needs {install_command('corpora')} ({error})") from error
