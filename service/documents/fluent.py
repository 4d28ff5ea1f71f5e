"""Mozilla's Fluent: fluent.syntax says where the texts stand, and only they are written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import regex
from fluent.syntax import FluentParser, ast

from service.documents.inline import InlineText
from service.documents.segments import (
    Edit,
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
_MOST_VARIANTS = 12
"""Of a selection that has text beside it: each variant gets this text."""
_BRACE, _MARK = regex.compile(r"[{}]"), regex.compile(r"^[.*\[]", regex.MULTILINE)

_Elements: TypeAlias = Sequence[ast.TextElement | ast.Placeable]
_Around: TypeAlias = tuple[_Elements, _Elements]


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Messages and their attributes, but for keys of keyboards. Terms, which are names, stay. The
    texts around a selection become a part of each variant."""
    decoded = decode_unicode(content)
    text = decoded.text
    found: list[Place | Edit] = []
    for entry in FluentParser(with_spans=True).parse(text).body:
        if isinstance(entry, ast.Junk):
            start, _ = _span(entry)
            raise invalid("Fluent", f"line {text.count(chr(10), 0, start) + 1}")
        if isinstance(entry, ast.Message):
            named = (one for one in entry.attributes if not one.id.name.endswith("key"))
            for pattern in (entry.value, *(one.value for one in named)):
                found += _places(text, pattern.elements if pattern else [])
    places = [one for one in found if isinstance(one, Place)]
    return TextFile(decoded, places, [one for one in found if isinstance(one, Edit)])


def _ends(elements: _Elements) -> tuple[int, int]:
    return _span(elements[0])[0], _span(elements[-1])[1]


def _span(node: ast.SyntaxNode) -> tuple[int, int]:
    return (node.span.start, node.span.end) if node.span else (0, 0)


def _places(text: str, elements: _Elements, around: _Around = ((), ())) -> Iterator[Place | Edit]:
    """The places of a pattern with the texts `around` it: of all variants if it is a selection,
    into which the texts beside it are moved. A pattern with several selections stays."""
    chosen = [number for number, one in enumerate(elements) if _selection(one)]
    if not chosen and elements:
        yield from _text_place(text, elements, around)
    elif len(elements) == 1 or (chosen and _num_texts(elements) <= _MOST_VARIANTS):
        before, after = elements[: chosen[0]], elements[chosen[0] + 1 :]
        yield from (Edit(*_ends(part), "") for part in (before, after) if part)
        beside = (*around[0], *before), (*after, *around[1])
        for variant in _variants(elements[chosen[0]]):
            yield from _places(text, variant, beside)


def _num_texts(elements: _Elements) -> float:
    """How many texts a pattern chooses from; infinite if it has selections beside each other."""
    if sum(1 for one in elements if _selection(one)) > 1:
        return math.inf
    return sum(_num_texts(variant) for one in elements for variant in _variants(one)) or 1


def _variants(element: ast.TextElement | ast.Placeable) -> list[_Elements]:
    selection = _selection(element)
    return [variant.value.elements for variant in selection.variants] if selection else []


def _selection(element: ast.TextElement | ast.Placeable) -> ast.SelectExpression | None:
    expression = element.expression if isinstance(element, ast.Placeable) else None
    return expression if isinstance(expression, ast.SelectExpression) else None


def _text_place(text: str, elements: _Elements, around: _Around) -> Iterator[Place]:
    """The place of a text whose placeables are kept, if it has words."""
    inline, placeables = InlineText(_escaped), []
    (start, end), is_moved, begin = _ends(elements), any(around), 0
    if not is_moved and (spaces := _SPACES.match(text, start, end)):
        start = begin = spaces.end()
    for element in (*around[0], *elements, *around[1]):
        first, last = _span(element)
        if isinstance(element, ast.TextElement):
            inline.add(_LINE_END.sub("\n", element.value[max(0, begin - first) :]))
        elif last > begin:
            placeables.append(text[first:last])
            inline.word(text[first:last])
    coded = inline.text
    if is_moved or (inline.has_letters and is_worded(coded.read())):
        is_simple = all(map(_SIMPLE.fullmatch, placeables))
        segment = Segment(coded.read(), "auto", "nonewlines") if is_simple else Segment(coded)
        before = text[text.rfind("\n", 0, start) + 1 : start]
        line_end = "\r\n" if "\r\n" in text else "\n"
        spelling = _Spelling(inline, tuple(placeables), before, line_end)
        yield Place(start, end, segment, spelling, is_filled=is_moved)


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
