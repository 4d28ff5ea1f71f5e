"""PDF: its text, as plain text. The layout is lost.

pypdf runs in a process of its own with bounds of time and memory, because a hostile PDF can make
any reader run forever or fill the memory.
"""

from __future__ import annotations

import subprocess
import sys

import regex

from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.documents import pdf_process
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
    invalid,
)

_MAX_SECONDS = 20.0
_PARAGRAPH = regex.compile(r"[^\n]++(?:\n[^\n]++)*+")
_LETTER = regex.compile(r"\p{L}")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Paragraphs; line breaks within one are spaces. Without translation it is the text."""
    if b"%PDF-" not in content[:1024]:
        raise invalid("PDF", "it does not begin with %PDF-")
    text = _text(content)
    if not _LETTER.search(text):
        raise InvalidDocument("the file has no text; pictures of text are not read")
    places = [
        Place(*match.span(), Segment(match.group(), split_sentences="nonewlines"))
        for match in _PARAGRAPH.finditer(text)
    ]
    return TextFile(PlacedText(text, places), str.encode)


def _text(content: bytes) -> str:
    command = [sys.executable, "-I", pdf_process.__file__]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=_MAX_SECONDS)
    except subprocess.TimeoutExpired:
        raise DocumentTooLarge(
            f"the file's text could not be read within {_MAX_SECONDS:g} seconds"
        ) from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise invalid("PDF", "".join(reason)[:200] or "it cannot be read")
    return done.stdout.decode("utf-8", "replace")
