"""The lines of a text without the indentation of the block that they are in."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from model.text.spans import Span

_LINE = regex.compile(r"([^\n\r\f\v]*+)(?:\r\n|\n|\r|\f|\v|\Z)")
_SPACE = regex.compile(r"\s*+")
_TAB = 8

Lines = Sequence[Span]


class SourceLines:
    """Lines of a text. Their ends have no white space."""

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self) -> list[Span]:
        """All lines of the text."""
        matches = (match.span(1) for match in _LINE.finditer(self.text))
        return [Span(a, a + len(self.text[a:b].rstrip())) for a, b in matches]

    def line(self, lines: Lines, number: int) -> str:
        """A line, or nothing behind the last one."""
        return self.text[slice(*lines[number])] if number < len(lines) else ""

    def end(self, lines: Lines, first: int, indent: int = 1) -> int:
        """The first line from there on that is not empty and has less indentation."""
        for number in range(first, len(lines)):
            if lines[number].end > lines[number].start and self._indent(lines[number]) < indent:
                return number
        return len(lines)

    def empty(self, lines: Lines, first: int) -> int:
        """The first line from there on that is empty."""
        return next((n for n in range(first, len(lines)) if not self.line(lines, n)), len(lines))

    def cut(self, line: Span, indent: int) -> Span:
        """The line without its first columns of white space."""
        lead = self._lead(line)
        if "\t" not in lead:
            return Span(line.start + min(len(lead), indent), line.end)
        start, column = line.start, 0
        for char in lead:
            if column < indent:
                column += _TAB - column % _TAB if char == "\t" else 1
                start += 1
        return Span(start, line.end)

    def stripped(self, line: Span) -> Span:
        """The line without the white space that it begins with."""
        return Span(line.start + len(self._lead(line)), line.end)

    def dedented(self, lines: Lines) -> list[Span]:
        """The lines without the white space that all of them begin with."""
        indents = [self._indent(line) for line in lines if line.end > line.start]
        return [self.cut(line, min(indents, default=0)) for line in lines]

    def _indent(self, line: Span) -> int:
        """The columns of the white space that begins a line."""
        return len(self._lead(line).expandtabs(_TAB))

    def _lead(self, line: Span) -> str:
        found = _SPACE.match(self.text, line.start, line.end)
        return found.group() if found else ""
