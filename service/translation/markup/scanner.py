"""Cut HTML or XML into tokens that, joined, are the input: every character is in one token.

Parsers from libraries do not serve here. lxml, html5lib, selectolax and BeautifulSoup build a tree
and write it anew, which changes case, quotes, entities and white space of tags. html.parser gives
positions, but takes quadratic time on some inputs (60 kB of `<a ` take 20 seconds). This scanner
follows the tokenization of the HTML standard (section 13.2.5) as far as the ends of tokens need it,
and never looks at a character again after its token has ended, so its time is linear.

Where the standard drops what cannot be read, the scanner keeps it as an `OTHER` token.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

import regex

RAW_TEXT = frozenset(
    {"script", "style", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext"}
)
"""Elements whose content has no tags."""
_TEXT = regex.compile(r"[^<]++")
_TAG_OPEN = regex.compile(r"</?+(?<name>[A-Za-z][^\s/><]*+)")
_ATTRIBUTES = regex.compile(
    r"""(?:[\s/]++|=*+[^\s/>=<]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]++))?+|=++)*+"""
)
_COMMENT_END = regex.compile(r"--!?>")


class Kind(enum.Enum):
    """`RAW` is the content of a `RAW_TEXT` element; `OTHER` a comment, a declaration, a processing
    instruction, CDATA, or a tag that does not end."""

    TEXT = enum.auto()
    START = enum.auto()
    END = enum.auto()
    RAW = enum.auto()
    OTHER = enum.auto()


class Token(NamedTuple):
    """source[start:end]. `name` is a tag's name in lower case; `is_empty` says that it ends in
    `/>`."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    is_empty: bool = False


def scan(source: str, raw_text: frozenset[str] = RAW_TEXT) -> Iterator[Token]:
    """Yield the tokens of `source`; two text tokens may be neighbours. `raw_text`: the names of
    elements whose content has no tags. Linear time."""
    finder = _Finder(source)
    position = 0
    while position < len(source):
        token = _next_token(finder, position)
        yield token
        position = token.end
        if token.kind is Kind.START and token.name in raw_text:
            end = finder.raw_end(token)
            if end > position:
                yield Token(Kind.RAW, position, end)
                position = end


_LIST_MARKS = (
    ("<![if !supportLists]>", "<![endif]>"),
    ("<!--[if !supportLists]-->", "<!--[endif]-->"),
)
"""What encloses the mark or number of a list where Word writes HTML. Word does not show it."""


class _Finder:
    """Search for terminators, remembering those that do not occur any more."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._absent: set[str] = set()

    def after(self, terminator: str, start: int) -> int | None:
        """The end of the next `terminator`, or None. `start` grows from call to call."""
        if terminator in self._absent:
            return None
        found = self.source.find(terminator, start)
        if found < 0:
            self._absent.add(terminator)
            return None
        return found + len(terminator)

    def raw_end(self, tag: Token) -> int:
        """Where the content of a raw text element ends: at its end tag, or else at the end of the
        source; an XML tag `<script/>` that is never closed has no content."""
        end_tag = f"</{tag.name}"
        if end_tag not in self._absent:
            pattern = regex.compile(rf"</{tag.name}(?=[\s/>])", regex.IGNORECASE)
            if found := pattern.search(self.source, tag.end):
                return int(found.start())
            self._absent.add(end_tag)
        return tag.end if tag.is_empty else len(self.source)


def _next_token(finder: _Finder, start: int) -> Token:
    source = finder.source
    if text := _TEXT.match(source, start):
        return Token(Kind.TEXT, start, text.end())
    if tag := _TAG_OPEN.match(source, start):
        kind = Kind.END if source[start + 1] == "/" else Kind.START
        return _tag(finder, start, tag.end(), tag["name"].lower(), kind)
    end = _other_end(finder, start)
    return Token(Kind.TEXT, start, start + 1) if end is None else Token(Kind.OTHER, start, end)


def _other_end(finder: _Finder, start: int) -> int | None:
    """The end of a comment, declaration or the like, or None if `<` begins none here."""
    source = finder.source
    for beginning, ending in _LIST_MARKS:
        if source.startswith(beginning, start) and (end := finder.after(ending, start)):
            return end
    if source.startswith("<!--", start):
        return _comment_end(source, start)
    if source.startswith("<!", start):
        return _declaration_end(finder, start)
    if source.startswith("<?", start):
        return finder.after("?>", start + 2) or finder.after(">", start + 2)
    return finder.after(">", start + 2) if source.startswith("</", start) else None


def _comment_end(source: str, start: int) -> int:
    """A comment that is never closed reaches to the end of the source."""
    for empty in ("<!-->", "<!--->"):
        if source.startswith(empty, start):
            return start + len(empty)
    found = _COMMENT_END.search(source, start + len("<!--"))
    return found.end() if found else len(source)


def _declaration_end(finder: _Finder, start: int) -> int | None:
    """The end of a CDATA section, a document type (with its internal subset) or the like."""
    source = finder.source
    if source.startswith("<![CDATA[", start) and (end := finder.after("]]>", start)):
        return end
    end = finder.after(">", start)
    if end is None or source.find("[", start, end) < 0:
        return end
    return finder.after("]>", start) or end


def _tag(finder: _Finder, start: int, name_end: int, name: str, kind: Kind) -> Token:
    """A tag that meets the beginning of another token, or the end of the source, ends there. A `<`
    that begins none belongs to the tag, as in the standard: as a text it would be written
    `&lt;`, and the unfinished tag would swallow that."""
    source = finder.source
    end = _attributes_end(source, name_end)
    while source.startswith("<", end) and not _begins_token(finder, end):
        end = _attributes_end(source, end + 1)
    if not source.startswith(">", end):
        return Token(Kind.OTHER, start, end)
    is_empty = source[end - 1] == "/" and not _is_in_value(source, start, end)
    return Token(kind, start, end + 1, name, is_empty)


def _attributes_end(source: str, start: int) -> int:
    attributes = _ATTRIBUTES.match(source, start)
    return int(attributes.end()) if attributes else start


def _begins_token(finder: _Finder, start: int) -> bool:
    return bool(_TAG_OPEN.match(finder.source, start)) or _other_end(finder, start) is not None


def _is_in_value(source: str, start: int, end: int) -> bool:
    """Whether the tag's last slash belongs to an unquoted value, as in `<a href=/b/>`."""
    begin = max(source.rfind(mark, start, end) for mark in " \t\n\r\f\"'")
    return source.find("=", max(begin, start), end) >= 0
