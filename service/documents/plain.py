"""Plain text: every line is translated by itself, and blank lines stay. A PDF is read as plain
text; its layout is lost."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import regex

from service.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
)
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters

if TYPE_CHECKING:
    from pypdf import PageObject

_SEGMENT_CHARACTERS = 1000
_LINE_END = regex.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_SENTENCE_END = regex.compile(r"[.!?](?=\s)|[。！？]|\s")
_ITEM = regex.compile(r"\s*+(?:[\p{So}•‣–-]|\d{1,2}[.)])\s")
_SIGN_BULLET = regex.compile(r"^\s*+\K\p{Co}(?=\s)")
"""A bullet of a font with signs, which is a character for private use that no text can show."""
_LEAST_GAP, _USUAL_GAP, _WIDE = 0.9, 1.4, 1.25
"""Lines are at least and usually so far apart, by their size; paragraphs farther than lines."""
_SOFT_HYPHEN = "\u00ad"
_CUT_WORD = regex.compile(
    r"(?<![\p{L}-])(?P<first>\p{L}++(?:-\p{L}++)*+)(?P<hyphen>[-\u2010\u00ad])\n[ \t]*+"
    r"(?P<second>\p{L}++)"
)
_COMPOUND = regex.compile(r"(?<!\p{L})\p{L}++(?:-\p{L}++)++")
_OFTEN_COMPOUND = frozenset(
    [
        "all",
        "cross",
        "ex",
        "half",
        "high",
        "long",
        "low",
        "mid",
        "multi",
        "non",
        "self",
        "semi",
        "short",
        "so",
        "well",
    ]
)
"""First parts of English words that mostly have a hyphen."""
_CONJUNCTIONS = frozenset(["and", "or", "to", "und", "oder", "bzw", "sowie", "bis"])
"""Words after a first part whose second comes later, as in `Haus- und Gartenarbeit`."""
_PARAGRAPH = regex.compile(r"[^\n]++(?:\n[^\n]++)*+")


def parse_text(content: bytes, options: FileOptions) -> TextFile:
    """Cut a text at line ends into segments of bounded size; a longer line at sentence ends."""
    decoded = decode(content, options.source)
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
    except (InvalidDocument, MemoryError):
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
        raise InvalidDocument("the file needs a password; save it without one")
    text = "\n\n".join(_text_of_page(page) for page in reader.pages) + "\n"
    return _with_whole_words(text.encode("utf-8", "replace").decode())


def _with_whole_words(text: str) -> str:
    """The text without hyphens that cut words at the ends of lines. A word that has one elsewhere
    keeps it."""
    known = {word.casefold() for word in _COMPOUND.findall(text)}

    def joined(match: regex.Match[str]) -> str:
        first, second = match["first"], match["second"]
        compound = f"{first}-{second}"
        if second.casefold() in _CONJUNCTIONS:
            return match.group()
        is_compound = (
            "-" in first
            or not second[0].islower()
            or first.casefold() in _OFTEN_COMPOUND
            or compound.casefold() in known
        )
        return compound if is_compound and match["hyphen"] != _SOFT_HYPHEN else first + second

    return _CUT_WORD.sub(joined, text)


class _Line(NamedTuple):
    """A line of a page, with the height and the size of its largest letters."""

    text: str
    height: float = 0.0
    size: float = 0.0


def _text_of_page(page: PageObject) -> str:
    """Its lines, with a blank line before paragraphs, headings and the items of lists."""
    lines = [_Line("")]

    def add(text: str, page_: list[float], own: list[float], _: object, size: float) -> None:
        height = page_[1] * own[4] + page_[3] * own[5] + page_[5]
        for number, part in enumerate(text.split("\n")):
            before = _Line("") if number else lines.pop()
            tall = abs(size * own[3] * page_[3]) if part.strip() else 0.0
            place = (height, tall) if tall > before.size else before[1:]
            lines.append(_Line(before.text + part, *place))

    page.extract_text(visitor_text=add)
    shown = (line for line in lines if line.text.strip())
    lines = [_Line(""), *(one._replace(text=_SIGN_BULLET.sub("•", one.text)) for one in shown)]
    spacing: dict[float, float] = {}
    for last, line in itertools.pairwise(lines):
        gap = last.height - line.height
        if last.size == line.size and gap > _LEAST_GAP * line.size:
            spacing[line.size] = min(gap, spacing.get(line.size, gap))
    parts = []
    for last, line in itertools.pairwise(lines):
        usual = max(_USUAL_GAP * line.size, _WIDE * spacing.get(line.size, math.inf))
        is_far = last.height - line.height > usual
        is_new = last.size != line.size or is_far or _ITEM.match(line.text)
        parts.append("\n" * (2 if is_new else 1) + line.text.rstrip())
    return "".join(parts).strip("\n")
