"""PDF: its text, as plain text. The layout is lost."""

from __future__ import annotations

import io

import regex

from service.errors import InvalidDocument
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
    invalid,
)

_PARAGRAPH = regex.compile(r"[^\n]++(?:\n[^\n]++)*+")
_LETTER = regex.compile(r"\p{L}")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Paragraphs; line breaks within one are spaces. Without translation it is the text."""
    if b"%PDF-" not in content[:1024]:
        raise invalid("PDF", "it does not begin with %PDF-")
    try:
        text = _text(content)
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises any
        raise invalid("PDF", f"{type(error).__name__}: {error}"[:200]) from None
    if not _LETTER.search(text):
        raise InvalidDocument("the file has no text; pictures of text are not read")
    places = [
        Place(*match.span(), Segment(match.group(), split_sentences="nonewlines"))
        for match in _PARAGRAPH.finditer(text)
    ]
    return TextFile(PlacedText(text, places), str.encode)


def _text(content: bytes) -> str:
    from pypdf import PdfReader  # it takes longer to import than most files to read

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it needs a password")
    pages = [page.extract_text().splitlines() for page in reader.pages]
    text = "\n\n".join("\n".join(map(str.rstrip, lines)) for lines in pages) + "\n"
    return text.encode("utf-8", "replace").decode()
