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

from service.corpora.byte_output import ByteOutput
from service.documents.encodings import (
    Encoding,
    encode_old,
    guessed_encoding,
    unicode_encoding,
)

_PART_BYTES = 16_384
_LINE_BYTES = 262_144
_SMALL_BYTES = 65_536
"""One process translates less in the third of a second that several take to begin."""
_PARAGRAPH_END, _LINE_END = re.compile(r"\n\s*\n"), re.compile(r"\n\Z")
_BOUNDARY = re.compile(r"[\s。！？]")


class TextFileError(ValueError):
    """A file cannot be read; the message names it."""


class TextReader:
    """Reads a file or standard input in parts. `encoding` is right when the first is read."""

    def __init__(
        self, path: Path | None, language: str = "auto", *, joins_lines: bool = False
    ) -> None:
        self._path, self.name = path, str(path or "standard input")
        self._language = language
        self._ends = [*[_PARAGRAPH_END] * joins_lines, _LINE_END, _BOUNDARY]
        self._read: list[tuple[bytes, bool]] = []
        """The first block, if it was read ahead."""
        self.encoding = Encoding("utf-8")

    def ends_soon(self) -> bool:
        """Whether standard input is a terminal, or ends within its first part, which is then read.
        Raises TextFileError."""
        if sys.stdin is not None and sys.stdin.isatty():
            return True
        with self._naming_errors(), _opened(None) as file:
            self._read.append(_block(file))
        return self._read[0][1]

    def __iter__(self) -> Iterator[str]:
        """Yield whole lines, or paragraphs if it `joins_lines`, some thousand characters at a time.

        A much longer line comes in several parts. Raises TextFileError.
        """
        with self._naming_errors(), _opened(self._path) as file:
            yield from self._parts(file)

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TextFileError(f"cannot read {self.name}: {error.strerror or error}") from error

    def _parts(self, file: BinaryIO) -> Iterator[str]:
        block, is_last = self._read.pop() if self._read else _block(file)
        self.encoding = _encoding_of(block, self._language)
        num_read = len(self.encoding.mark)
        block = block[num_read:]
        decoder = codecs.getincrementaldecoder(self.encoding.name)()
        rest = ""
        while True:
            num_pending = len(decoder.getstate()[0])
            try:
                text = rest + decoder.decode(block, final=is_last)
            except UnicodeDecodeError as error:
                wrong = num_read - num_pending + error.start
                raise TextFileError(
                    f"{self.name} is not UTF-8: byte {wrong} is wrong; save it as UTF-8"
                ) from error
            num_read += len(block)
            part, rest = (text, "") if is_last else _cut(text, self._ends)
            if part:
                yield part
            if is_last:
                return
            block, is_last = _block(file)


def are_small(files: Sequence[Path]) -> bool:
    """Whether several processes would not translate them faster."""
    if not all(file.is_file() for file in files):  # how much a FIFO gives is not known
        return False
    return sum(file.stat().st_size for file in files) < _SMALL_BYTES


def _block(file: BinaryIO) -> tuple[bytes, bool]:
    """The next bytes of a file up to a line end, and whether they are the last."""
    block = file.read(_PART_BYTES)
    is_last = len(block) < _PART_BYTES
    return block + (b"" if is_last else file.readline(_LINE_BYTES)), is_last


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    if path is not None:
        with path.open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise TextFileError("standard input is closed; name a file")
    else:
        yield sys.stdin.buffer


def _encoding_of(beginning: bytes, language: str) -> Encoding:
    """UTF-8, unless the beginning of a text seems to be in another encoding."""
    encoding = unicode_encoding(beginning)
    if encoding.mark:
        return encoding
    lines = beginning[: beginning.rfind(b"\n") + 1] or beginning
    if b"\0" in beginning:
        return Encoding(guessed_encoding(beginning, language) or encoding.name)
    try:
        lines.decode()
    except UnicodeDecodeError:
        return Encoding(guessed_encoding(lines, language) or encoding.name)
    return encoding


def _cut(text: str, ends: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Cut a text at the last match of the first of `ends` that matches; at its end if none does."""
    cuts = (max((match.end() for match in end.finditer(text)), default=0) for end in ends)
    cut = next(filter(None, cuts), len(text))
    return text[:cut], text[cut:]


class Output:
    """A file or standard output; writes every text without buffering, but texts in an old encoding
    in the end, since one of them may need UTF-8.

    The file is opened at once, but truncated only at the first text, or when the block ends without
    one. The end of an inner block closes it. Raises ValueError.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._is_begun = path, path is None
        self._held: list[str] = []
        self._encoding: Encoding | None = None
        self._is_new = path is not None and not os.path.exists(path)
        self._output = ByteOutput(path)
        self._file = self._output.file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._file is not None and self._file.closed:
            return
        self._write_held()
        with self._output.naming_errors():
            if kind is None:
                self._begin()
            if self._file is not None:
                self._file.close()
            if self._is_new and self._path is not None and not self._is_begun:
                self._path.unlink(missing_ok=True)

    def require_other_than(self, path: Path | None) -> None:
        """Raise ValueError if `path` is the same file as this output."""
        written, read = _status(self._file or sys.stdout), _status(path or sys.stdin)
        if written and read and stat.S_ISREG(written.st_mode) and os.path.samestat(written, read):
            raise ValueError(f"{path or 'standard input'} is the output too; name another file")

    def require_no_terminal(self, path: Path | None) -> None:
        """Raise ValueError if a terminal would show the bytes of `path`'s translation."""
        if self._file is None and sys.stdout.isatty():
            raise ValueError(f"{path} becomes a file that is no text; name it with -o")

    def write_text(self, text: str, encoding: Encoding) -> None:
        """Write a text. The encoding of the first is that of all; a terminal gets UTF-8. Raises
        BrokenPipeError if the reader is gone."""
        if self._encoding is None:
            is_shown = self._file is None and sys.stdout.isatty()
            self._encoding = Encoding("utf-8") if is_shown else encoding
            if self._encoding.mark:
                self.write_bytes(self._encoding.mark)
        if self._encoding.is_unicode:
            self.write_bytes(text.encode(self._encoding.name))
        else:
            self._held.append(text)

    def _write_held(self) -> None:
        if self._held and self._encoding:
            text = "".join(self._held)
            self._held.clear()
            self.write_bytes(encode_old(self._encoding.name, text))

    def write_bytes(self, content: bytes) -> None:
        """Raises BrokenPipeError if the reader is gone."""
        with self._output.naming_errors():
            self._begin()
        self._output.write(content)

    def _begin(self) -> None:
        """Truncate a regular file before the first text."""
        if self._file is not None and not self._is_begun and _is_regular(self._file):
            self._file.truncate(0)
        self._is_begun = True


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
