"""Plain text: every line is translated by itself, and blank lines stay. A PDF is read as plain
text; its layout is lost."""

from __future__ import annotations

import io
from collections.abc import Iterator

import regex

from service.errors import InvalidDocument
from service.translation.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    has_letters,
    invalid,
)

_SEGMENT_CHARACTERS = 1000
_LINE_END = regex.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_SENTENCE_END = regex.compile(r"[.!?](?=\s)|[。！？]|\s")
_PARAGRAPH = regex.compile(r"[^\n]++(?:\n[^\n]++)*+")


def parse_text(content: bytes, options: FileOptions) -> TextFile:
    """Cut a text at line ends into segments of bounded size; a longer line at sentence ends."""
    decoded = decode(content)
    cuts = _cuts(decoded.text)
    places = (Place(start, end, Segment(decoded.text[start:end])) for start, end in cuts)
    return TextFile(decoded, (place for place in places if place.segment.text))


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _SEGMENT_CHARACTERS:
        most = start + _SEGMENT_CHARACTERS
        end = _last_end(_LINE_END, text, start, most) or _last_end(_SENTENCE_END, text, start, most)
        yield start, end or most
        start = end or most
    yield start, len(text)


def _last_end(pattern: regex.Pattern[str], text: str, start: int, most: int) -> int:
    """The end of the last match in text[start:most], or 0."""
    return max((match.end() for match in pattern.finditer(text, start, most)), default=0)


def parse_pdf(content: bytes, options: FileOptions) -> TextFile:
    """Paragraphs; line breaks within one are spaces. Without translation it is the text."""
    if b"%PDF-" not in content[:1024]:
        raise invalid("PDF", "it does not begin with %PDF-")
    try:
        text = _text_of_pdf(content)
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises any
        raise invalid("PDF", f"{type(error).__name__}: {error}"[:200]) from None
    if not has_letters(text):
        raise InvalidDocument("the file has no text; pictures of text are not read")
    places = [
        Place(*match.span(), Segment(match.group(), split_sentences="nonewlines"))
        for match in _PARAGRAPH.finditer(text)
    ]
    return TextFile(DecodedText(text, str.encode), places)


def _text_of_pdf(content: bytes) -> str:
    from pypdf import PdfReader  # it takes longer to import than most files to read

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it needs a password")
    pages = [page.extract_text().splitlines() for page in reader.pages]
    text = "\n\n".join("\n".join(map(str.rstrip, lines)) for lines in pages) + "\n"
    return text.encode("utf-8", "replace").decode()
