"""Android's string resources: the elements string, string-array and plurals of an XML file.

Android folds white space outside of `"quotes"`, and reads a backslash and a letter as a character.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import regex

from service.documents.inline import InlineText, escape_markup
from service.documents.segments import FileOptions, Place, Segment, TextFile, is_worded
from service.documents.xml_catalogues import spelled_like
from service.documents.xml_text import XmlText, read_xml
from service.errors import InvalidDocument, shown
from service.translation.markup.scanner import Kind

_LISTS, _SCRIPTS, _PLACEHOLDER = ("string-array", "plurals"), ("sub", "sup"), "xliff:g"
_REFERENCE = regex.compile(r"[@?]\+?(?:[\w.]+:)?(?:\w+/)?[\w.]+")
"""A text that names another resource, or an attribute of the theme."""
_ENTITY = regex.compile(r"(&(?!(?:amp|lt|gt|quot|apos|#\w++);)[^\s&;]++;)")
"""The name of a text that the document type declares."""
_SPACE = " \t\n\r"
_PIECE = regex.compile(
    r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<char>[\s\S]))|(?P<quote>\")|(?P<space>[ \t\n\r]++)"
)
_ESCAPED = {"n": "\n", "t": "\t", "\n": ""}
_WRITTEN = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t"})
_QUOTED = regex.compile(r'"(?:[^"\\]++|\\[\s\S])*+"')
_FOLDED = regex.compile(r"^\x20|(?<=\x20)\x20|\x20$")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Strings, but for those that are not translatable or name another resource."""
    xml = read_xml(content, has_entities=True)
    root = next(index for index, token in enumerate(xml.tokens) if token.kind is Kind.START)
    if xml.tokens[root].name != "resources":
        raise InvalidDocument(
            "an .xml file must be Android's, with the element <resources>; "
            f"got {shown(xml.written(root, root + 1))}"
        )
    places = (place for index in _strings(xml, root) for place in _places(xml, index))
    return TextFile(xml.decoded, places)


def _strings(xml: XmlText, root: int) -> Iterator[int]:
    """The elements with texts."""
    for child in xml.children(root):
        name = xml.tokens[child].name
        if _is_kept(xml, child):
            continue
        if name == "string" or (name == "item" and xml.attribute(child, "type") == "string"):
            yield child
        elif name in _LISTS:
            items = (item for item in xml.children(child) if xml.tokens[item].name == "item")
            yield from (item for item in items if not _is_kept(xml, item))


def _is_kept(xml: XmlText, index: int) -> bool:
    is_ignored = "MissingTranslation" in (xml.attribute(index, "tools:ignore") or "")
    return is_ignored or xml.attribute(index, "translatable") == "false"


def _places(xml: XmlText, element: int) -> Iterator[Place]:
    """The place of an element's text, if it has words and names no other resource."""
    tokens = xml.tokens[element + 1 : xml.end_of(element) - 1]
    written = xml.inner(element)
    start = xml.tokens[element].end + len(written) - len(written.lstrip(_SPACE))
    end = start + len(written.strip(_SPACE))
    if _REFERENCE.fullmatch(xml.source, start, end):
        return
    if _ENTITY.search(written) or any(xml.text_of(token) is None for token in tokens):
        inline = _inline(xml, element)
        if inline.has_letters:
            yield Place(start, end, Segment(inline.text), inline.write)
        return
    text = html.unescape(xml.text(element)).strip(_SPACE)
    is_quoted = _QUOTED.fullmatch(text) is not None
    spelling = _Spelling(spelled_like(xml.source[start:end]), is_quoted)
    if is_worded(read := _Reader().read(text)):
        yield Place(start, end, Segment(read, "auto"), spelling)


@dataclass(frozen=True)
class _Spelling:
    """Writes a translation as a string, in quotes if its source was. `spell`: as XML."""

    spell: Callable[[str], str]
    is_quoted: bool

    def __call__(self, translation: str) -> str:
        written = translation.translate(_WRITTEN)
        if self.is_quoted:
            return self.spell(f'"{written}"')
        written = _FOLDED.sub(r"\\u0020", written.replace("'", r"\'"))
        return self.spell("\\" + written if written[:1] in ("@", "?") else written)


def _escaped(text: str) -> str:
    """A text between the codes of a string, as it is written."""
    return escape_markup(text.translate(_WRITTEN).replace("'", r"\'"))


class _Reader:
    """Reads the texts of one string, whose quotes may begin in one and end in another."""

    def __init__(self) -> None:
        self._is_quoted = False

    def read(self, written: str) -> str:
        """A pair of surrogates is one character."""
        read = _PIECE.sub(self._piece, written)
        return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _piece(self, piece: regex.Match[str]) -> str:
        if piece["code"]:
            return chr(int(piece["code"], 16))
        if piece["quote"]:
            self._is_quoted = not self._is_quoted
            return ""
        if piece["space"]:
            return piece["space"] if self._is_quoted else " "
        return _ESCAPED.get(piece["char"], piece["char"])


def _add_text(inline: InlineText, reader: _Reader, text: str) -> None:
    for number, piece in enumerate(_ENTITY.split(text)):
        if number % 2:
            inline.word(piece)
            continue
        for line_number, line in enumerate(reader.read(html.unescape(piece)).split("\n")):
            if line_number:
                inline.stop(r"\n")
            inline.add(line)


def _inline(xml: XmlText, element: int) -> InlineText:
    """The text of an element with elements inside."""
    inline, reader = InlineText(_escaped), _Reader()
    index, last = element + 1, xml.end_of(element) - 1
    while index < last:
        token, end, tag = xml.tokens[index], xml.end_of(index), xml.written(index, index + 1)
        if (text := xml.text_of(token)) is not None:
            text = text.lstrip(_SPACE) if index == element + 1 else text
            text = text.rstrip(_SPACE) if index == last - 1 else text
            _add_text(inline, reader, text)
        elif token.kind is Kind.END:
            inline.close()
        elif token.kind is Kind.START and token.name == _PLACEHOLDER:
            inline.word(xml.element(index))
            index = end - 1
        elif token.kind is Kind.START and end > index + 1:
            inline.open(tag, xml.written(end - 1, end), is_script=token.name in _SCRIPTS)
        else:
            (inline.stop if token.name == "br" else inline.single)(tag)
        index += 1
    return inline
