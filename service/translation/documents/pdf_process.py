"""A program: a PDF on standard input -> its text on standard output, within bounds."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any

_MAX_PAGES = 2000
_MAX_CHARACTERS = 5_000_000
_MAX_BYTES = 2**30
_MAX_SECONDS = 20


def main() -> int:
    """0, or 1 with the reason as the last line of standard error."""
    _limit()
    logging.disable()
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it needs a password")
        text = _text(reader)
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _text(reader: Any) -> str:
    if len(reader.pages) > _MAX_PAGES:
        raise ValueError(f"it has more than {_MAX_PAGES} pages")
    pages, size = [], 0
    for page in reader.pages:
        pages.append("\n".join(line.rstrip() for line in page.extract_text().splitlines()))
        size += len(pages[-1])
        if size > _MAX_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_CHARACTERS} characters")
    return "\n\n".join(pages) + "\n"


def _limit() -> None:
    """Bound memory and time, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_SECONDS, _MAX_SECONDS))


if __name__ == "__main__":
    sys.exit(main())
