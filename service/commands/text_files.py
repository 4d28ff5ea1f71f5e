"""Read a command's texts and write its translations."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

from service.documents.encodings import guessed_encoding

_PART_BYTES = 16_384
_LINE_BYTES = 262_144
_PARAGRAPH_END, _LINE_END = re.compile(r"\n\s*\n"), re.compile(r"\n\Z")
_BOUNDARY = re.compile(r"[\s。！？]")
_BYTE_ORDER_MARK = "\ufeff"


class TextFileError(ValueError):
    """A file cannot be read or written; the message names it."""


def read_parts(path: Path | None, joins_lines: bool = False) -> Iterator[str]:
    """Yield whole lines of a file or of standard input, or paragraphs if it `joins_lines`, some
    thousand characters at a time.

    A much longer line comes in several parts. Raises TextFileError.
    """
    name = str(path or "standard input")
    try:
        with _opened(path) as file:
            yield from _parts(file, name, joins_lines)
    except OSError as error:
        raise TextFileError(f"cannot read {name}: {error.strerror or error}") from error


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    if path is not None:
        with path.open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise TextFileError("standard input is closed; name a file")
    else:
        yield sys.stdin.buffer


def _parts(file: BinaryIO, name: str, joins_lines: bool) -> Iterator[str]:
    ends = [*[_PARAGRAPH_END] * joins_lines, _LINE_END, _BOUNDARY]
    decoder = None
    num_read, rest, is_first, is_last = 0, "", True, False
    while not is_last:
        block = file.read(_PART_BYTES)
        is_last = len(block) < _PART_BYTES
        block += b"" if is_last else file.readline(_LINE_BYTES)
        decoder = decoder or codecs.getincrementaldecoder(_encoding_of(block))()
        num_pending = len(decoder.getstate()[0])
        try:
            text = rest + decoder.decode(block, final=is_last)
        except UnicodeDecodeError as error:
            wrong = num_read - num_pending + error.start
            raise TextFileError(
                f"{name} is not UTF-8: byte {wrong} is wrong; save it as UTF-8"
            ) from error
        num_read += len(block)
        text = text.removeprefix(_BYTE_ORDER_MARK) if is_first else text
        part, rest = (text, "") if is_last else _cut(text, ends)
        is_first = False
        if part:
            yield part


def _encoding_of(beginning: bytes) -> str:
    """UTF-8, unless the beginning of a text seems to be in another encoding."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    lines = beginning[: beginning.rfind(b"\n") + 1] or beginning
    if b"\0" in beginning:
        return guessed_encoding(beginning, "auto") or "utf-8"
    try:
        lines.decode()
    except UnicodeDecodeError:
        return guessed_encoding(lines, "auto") or "utf-8"
    return "utf-8"


def _cut(text: str, ends: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Cut a text at the last match of the first of `ends` that matches; at its end if none does."""
    cuts = (max((match.end() for match in end.finditer(text)), default=0) for end in ends)
    cut = next(filter(None, cuts), len(text))
    return text[:cut], text[cut:]


class Output:
    """A file or standard output; writes every text without buffering.

    The file is opened at once, but truncated only at the first text, or when the block ends without
    one. The end of an inner block closes it. Raises TextFileError.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._name = path, str(path or "standard output")
        if path is None and sys.stdout is None:
            raise TextFileError("standard output is closed; name a file with -o")
        self._is_begun = path is None
        with self._naming_errors():
            self._is_new = path is not None and not path.exists()
            self._file = None if path is None else path.open("ab", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is not None and self._file.closed:
            return
        with self._naming_errors():
            if kind is None:
                self._begin()
            if self._file is not None:
                self._file.close()
            if self._is_new and self._path is not None and not self._is_begun:
                self._path.unlink(missing_ok=True)

    def require_other_than(self, path: Path | None) -> None:
        """Raise TextFileError if `path` is the same file as this output."""
        written, read = _status(self._file or sys.stdout), _status(path or sys.stdin)
        if written and read and stat.S_ISREG(written.st_mode) and os.path.samestat(written, read):
            raise TextFileError(f"{path or 'standard input'} is the output too; name another file")

    def write_bytes(self, content: bytes) -> None:
        """Raises BrokenPipeError if the reader is gone."""
        with self._naming_errors():
            self._begin()
            if self._file is None:
                sys.stdout.buffer.write(content)
                sys.stdout.buffer.flush()
                return
            left = memoryview(content)
            while left:
                left = left[self._file.write(left) :]

    def _begin(self) -> None:
        """Truncate a regular file before the first text."""
        if self._file is not None and not self._is_begun and _is_regular(self._file):
            self._file.truncate(0)
        self._is_begun = True

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise TextFileError(f"cannot write {self._name}: {error.strerror}") from error


def _status(file: Path | IO[Any] | None) -> os.stat_result | None:
    """None if the stream has no system file or its status is unavailable."""
    if file is None:
        return None
    try:
        return file.stat() if isinstance(file, Path) else os.fstat(file.fileno())
    except (OSError, ValueError):
        return None


def _is_regular(file: FileIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
