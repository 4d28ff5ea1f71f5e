"""A file or standard output that gets bytes at once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path


class ByteOutput:
    """A file that grows without buffering, or standard output. Raises ValueError, and
    BrokenPipeError if the reader is gone."""

    def __init__(self, path: Path | None) -> None:
        self._name = str(path or "standard output")
        if path is None and sys.stdout is None:
            raise ValueError("standard output is closed; name a file with -o")
        with self.naming_errors():
            self.file = None if path is None else path.open("ab", buffering=0)

    def write(self, content: bytes) -> None:
        with self.naming_errors():
            if self.file is None:
                sys.stdout.buffer.write(content)
                sys.stdout.buffer.flush()
                return
            left = memoryview(content)
            while left:
                left = left[self.file.write(left) :]

    @contextlib.contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Raise errors of the system in the block as ValueError with the output's name."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise ValueError(f"cannot write {self._name}: {error.strerror or error}") from error
