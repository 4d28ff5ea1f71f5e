"""Mozilla's Fluent: fluent.syntax says where the texts stand, and only they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
from fluent.syntax import FluentParser, ast

from service.documents.inline import InlineText
from service.documents.segments import (
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode_unicode,
    invalid,
    is_worded,
)
from service.translation.markup.coded_text import CodedText, Text

_SIMPLE = regex.compile(r"\{\s*+[$-]?[\w.-]++\s*+\}")
"""A placeable that a plain text keeps."""
_SPACES = regex.compile(r"(?:\{\x20*+\"\x20*+\"\x20*+\}\x20*+)++")
"""What keeps spaces at the beginning of a text."""
_LINE_END = regex.compile(r"[ \t]*+\n[ \t]*+")
_BRACE, _MARK = regex.compile(r"[{}]"), regex.compile(r"^[.*\[]", regex.MULTILINE)


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Messages and their attributes, but for keys of keyboards. Terms, which are names, stay. So do
    texts around a selection: each of its variants would need a text of its own."""
    decoded = decode_unicode(content)
    text = decoded.text
    places: list[Place] = []
    for entry in FluentParser(with_spans=True).parse(text).body:
        if isinstance(entry, ast.Junk):
            start, _ = _span(entry)
            raise invalid("Fluent", f"line {text.count(chr(10), 0, start) + 1}")
        if isinstance(entry, ast.Message):
            named = (one for one in entry.attributes if not one.id.name.endswith("key"))
            for pattern in (entry.value, *(one.value for one in named)):
                places += _places(text, pattern)
    return TextFile(decoded, places)


def _span(node: ast.SyntaxNode) -> tuple[int, int]:
    return (node.span.start, node.span.end) if node.span else (0, 0)


def _places(text: str, pattern: ast.Pattern | None) -> Iterator[Place]:
    """The places of a pattern: of all variants if it is a selection."""
    elements = pattern.elements if pattern else []
    selections = [one for one in map(_selection, elements) if one]
    if len(elements) == len(selections) == 1:
        for variant in selections[0].variants:
            yield from _places(text, variant.value)
    elif elements and not selections:
        yield from _text_place(text, elements)


def _selection(element: ast.TextElement | ast.Placeable) -> ast.SelectExpression | None:
    expression = element.expression if isinstance(element, ast.Placeable) else None
    return expression if isinstance(expression, ast.SelectExpression) else None


def _text_place(text: str, elements: Sequence[ast.TextElement | ast.Placeable]) -> Iterator[Place]:
    """The place of a text whose placeables are kept, if it has words."""
    inline, placeables = InlineText(_escaped), []
    (start, _), (_, end) = _span(elements[0]), _span(elements[-1])
    if spaces := _SPACES.match(text, start, end):
        start = spaces.end()
    for element in elements:
        first, last = _span(element)
        if isinstance(element, ast.TextElement):
            inline.add(_LINE_END.sub("\n", element.value[max(0, start - first) :]))
        elif last > start:
            placeables.append(text[first:last])
            inline.word(text[first:last])
    coded = inline.text
    if inline.has_letters and is_worded(coded.read()):
        is_simple = all(map(_SIMPLE.fullmatch, placeables))
        segment = Segment(coded.read(), "auto", "nonewlines") if is_simple else Segment(coded)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        line_end = "\r\n" if "\r\n" in text else "\n"
        yield Place(start, end, segment, _Spelling(inline, tuple(placeables), before, line_end))


def _escaped(text: str) -> str:
    return _BRACE.sub(r'{"\g<0>"}', text)


@dataclass(frozen=True)
class _Spelling:
    """Writes a translation, whose first line has `before` before it."""

    inline: InlineText
    placeables: Sequence[str]
    before: str
    line_end: str

    def __call__(self, translation: Text) -> str:
        written = self._written(translation).strip() or '{ "" }'
        is_block = self.before.isspace()
        space = self.before[: len(self.before) - len(self.before.lstrip())] + "    " * (
            not is_block
        )
        first, *others = _LINE_END.sub("\n", written).split("\n")
        lines = [_MARK.sub(r'{"\g<0>"}', line) for line in others]
        first = _MARK.sub(r'{"\g<0>"}', first) if is_block else first
        return self.line_end.join([first, *((space + line) * bool(line) for line in lines)])

    def _written(self, translation: Text) -> str:
        if isinstance(translation, CodedText):
            return self.inline.write(translation)
        kept = regex.compile(f"({'|'.join(map(regex.escape, self.placeables)) or '(?!)'})")
        parts = kept.split(translation)
        return "".join(one if number % 2 else _escaped(one) for number, one in enumerate(parts))
