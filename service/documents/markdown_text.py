"""The text of a Markdown block: its marks are codes, and a translation is Markdown again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex
from markdown_it.token import Token

from service.documents.inline import InlineText, joint
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind
from service.translation.markup.scanner import Token as Mark

_NAME = regex.compile(r"<(/?)([A-Za-z][\w-]*+)")
_NUMBERED = regex.compile(r"(\d{1,9})(?=[.)](?:\s|$))")
_MARKED = regex.compile(r"(?=[-+*](?:\s|$)|#{1,6}(?:\s|$)|[>=]|~~~|```|:::|!!!)")
_ESCAPED = regex.compile(r"\\([!-/:-@\[-`{-~])")
_WORDS = frozenset({"code_inline", "math_inline", "link_close"})


class BlockText:
    """The marks of one block as codes, and the way back to Markdown."""

    def __init__(
        self, text: str, tokens: Sequence[Token], breaks: Sequence[str], *, is_cell: bool
    ) -> None:
        """`breaks`: what the source has between its lines."""
        self.inline, self._text, self._is_cell = InlineText(), text, is_cell
        self._breaks, self._line = breaks, 0
        marks = sorted(_marks(tokens), key=lambda mark: mark.start)
        self._partners = pair_tags(marks)
        position = 0
        for number, mark in enumerate(marks):
            before = text[position : mark.start]
            self.inline.add(before.rstrip(" ") if text[mark.start] == "\n" else before)
            self._add(marks, number)
            self._line += text.count("\n", mark.start, mark.end)
            position = mark.end
        self.inline.add(text[position:])

    def write(self, translation: CodedText) -> str:
        """The translation as Markdown. Its beginning is not a mark of a block."""
        written = self.inline.write(translation)
        if self._is_cell:
            return written.replace("|", "\\|")
        written = _NUMBERED.sub(r"\1\\", written) if _NUMBERED.match(written) else written
        return "\\" + written if _MARKED.match(written) else written

    def _add(self, marks: Sequence[Mark], number: int) -> None:
        mark, partner = marks[number], self._partners.get(number)
        written = self._text[mark.start : mark.end].replace("\n", " ")
        if partner is not None and partner > number:
            self.inline.open(written, self._closing(mark, marks[partner]))
        elif partner is not None:
            self.inline.close()
        elif mark.name in _WORDS:
            self.inline.word(written)
        elif mark.name == "text_special" and (escape := _ESCAPED.fullmatch(written)):
            self.inline.char(escape[1], written)
        elif mark.name == "text_special":
            self.inline.add_markup(written)
        elif mark.name == "softbreak":
            before = self._text[: mark.start].rstrip(" ")
            self.inline.add(joint(before[-1:], self._text[mark.end : mark.end + 1]))
        elif mark.name == "hardbreak":
            self.inline.stop(written.strip() + self._breaks[self._line])
        elif mark.name == "br":
            self.inline.stop(written)
        else:
            self.inline.single(written)

    def _closing(self, opening: Mark, closing: Mark) -> str:
        """How a pair ends. A link by its own text needs a label, for its text is translated."""
        written = self._text[closing.start : closing.end].replace("\n", " ")
        if written in ("]", "][]"):
            label = self._text[opening.end : closing.start]
            return f"][{' '.join(label.split())}]"
        return written


def _marks(tokens: Sequence[Token]) -> Iterator[Mark]:
    """Where marks stand. Names are those of HTML's elements and of markdown-it's tokens."""
    for token in tokens:
        if "at" not in token.meta or token.type == "text":
            continue
        start = token.meta["at"]
        end = token.meta.get("end", start)
        if token.type == "html_inline":
            name = _NAME.match(token.content)
            kind = Kind.OTHER if name is None else Kind.END if name[1] else Kind.START
            is_empty = token.content.endswith("/>")
            yield Mark(kind, start, end, name[2].lower() if name else "", is_empty)
        elif token.markup == "autolink":
            if token.nesting < 0:
                yield Mark(Kind.OTHER, start, end, token.type)
        elif token.type == "link_open":
            yield Mark(Kind.START, start - 1, start, "[]")
        elif token.type == "link_close":
            yield Mark(Kind.END, start, end, "[]")
        elif token.nesting:
            begin = start - (token.type == "strong_open")
            kind = Kind.START if token.nesting > 0 else Kind.END
            yield Mark(kind, begin, begin + len(token.markup), f"{token.tag} of Markdown")
        else:
            yield Mark(Kind.OTHER, start, end, token.type)
