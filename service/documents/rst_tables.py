"""Tables of reStructuredText, drawn as a grid or under lines of equals signs, in columns that get
as wide as a translation.

A table with cells over several columns or rows, or with more than paragraphs in a cell, stays.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.segments import is_worded

_WIDE = frozenset("WF")
_FILLER = "\0"
"""What follows a wide character, which takes two columns."""
_BLOCK = regex.compile(r"[-*+•|>:]\s|[-*+]\Z|\(?(?:\d+|[A-Za-z#])[.)]\s|\.\.\s|.*::\Z", regex.S)
"""What is no paragraph."""
_RUN = regex.compile(r"=+")


class Row(NamedTuple):
    """The paragraphs of each cell, or the line between rows, such as an empty one."""

    cells: Sequence[Sequence[str]] = ()
    line: str = ""


class Table(NamedTuple):
    """`starts`, `ends`: the columns where cells begin and end; a grid has bars between them."""

    rows: Sequence[Row]
    starts: Sequence[int]
    ends: Sequence[int]
    is_grid: bool

    @property
    def texts(self) -> list[str]:
        """The paragraphs with words, of all cells."""
        texts = (text for row in self.rows for cell in row.cells for text in cell)
        return [_line(text) for text in texts if is_worded(text)]

    def written(self, texts: Sequence[str]) -> list[str]:
        """The lines of the table with these texts in its cells."""
        given = iter(texts)
        rows = [
            Row(
                [
                    [next(given) if is_worded(text) else _line(text) for text in cell]
                    for cell in row.cells
                ],
                row.line,
            )
            for row in self.rows
        ]
        widths = [end - start for start, end in zip(self.starts, self.ends, strict=True)]
        for row in rows:
            for number, cell in enumerate(row.cells):
                longest = max(map(width_of, cell), default=0) + 2 * self.is_grid
                widths[number] = max(widths[number], longest)
        return [line for row in rows for line in self._lines(row, widths)]

    def _lines(self, row: Row, widths: Sequence[int]) -> Iterator[str]:
        if not row.cells:
            yield self._rule(row.line, widths)
            return
        parts = [list(_apart(cell)) for cell in row.cells]
        for line in itertools.zip_longest(*parts, fillvalue=""):
            if self.is_grid:
                cells = (
                    _padded(f" {text}", width) for text, width in zip(line, widths, strict=True)
                )
                yield f"|{'|'.join(cells)}|"
            else:
                texts = (_padded(text, width) for text, width in zip(line, widths, strict=True))
                yield self._spaced(list(texts)).rstrip()

    def _rule(self, line: str, widths: Sequence[int]) -> str:
        if not line:
            return ""
        rules = [line * width for width in widths]
        return f"+{'+'.join(rules)}+" if self.is_grid else self._spaced(rules)

    def _spaced(self, cells: Sequence[str]) -> str:
        gaps = (start - end for end, start in zip(self.ends, self.starts[1:], strict=False))
        return cells[0] + "".join(
            " " * gap + cell for gap, cell in zip(gaps, cells[1:], strict=True)
        )


def width_of(text: str) -> int:
    """The columns of a text, as docutils counts them."""
    shown = (char for char in text if not unicodedata.combining(char))
    return sum(1 + (unicodedata.east_asian_width(char) in _WIDE) for char in shown)


def read_grid(lines: Sequence[str]) -> Table | None:
    """The table of a grid, or None if it stays."""
    drawn = [_drawn(line) for line in lines]
    bars = [column for column, char in enumerate(drawn[0]) if char == "+"]
    starts, ends = [bar + 1 for bar in bars[:-1]], bars[1:]
    rows: list[Row] = []
    between: list[str] = []
    for line in drawn:
        if len(line) != len(drawn[0]) or len({line[bar] for bar in bars}) > 1:
            return None
        if line[0] == "|":
            between.append(line)
        elif line[0] == "+" and (rule := set(line) - {"+"}) and len(rule) == 1:
            rows += [_row(between, starts, ends)] if between else []
            rows.append(Row(line=rule.pop()))
            between = []
        else:
            return None
    is_whole = not between and all(map(_is_simple, rows))
    return Table(rows, starts, ends, is_grid=True) if is_whole else None


def read_simple(lines: Sequence[str]) -> Table | None:
    """The table under a line of equals signs, or None if it stays."""
    spans = [match.span() for match in _RUN.finditer(lines[0])]
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    rules = {lines[0]: "=", lines[0].replace("=", "-"): "-", "": ""}
    rows: list[Row] = []
    for is_rule, part in itertools.groupby(map(_drawn, lines), rules.__contains__):
        if is_rule:
            rows += [Row(line=rules[line]) for line in part]
            continue
        for group in _grouped(list(part), ends[0]):
            if any(_is_crossed(line, starts, ends) for line in group):
                return None
            rows.append(_row(group, starts, [*ends[:-1], max(map(len, group))]))
    return Table(rows, starts, ends, is_grid=False) if all(map(_is_simple, rows)) else None


def _grouped(lines: Sequence[str], end: int) -> Iterator[list[str]]:
    """The lines of each row: one whose first cell is empty goes on with the row before."""
    group: list[str] = []
    for line in lines:
        if group and line[:end].strip():
            yield group
            group = []
        group.append(line)
    yield group


def _is_crossed(line: str, starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether a text stands between two columns."""
    gaps = zip(ends, starts[1:], strict=False)
    return any(line[end:start].strip() for end, start in gaps)


def _row(lines: Sequence[str], starts: Sequence[int], ends: Sequence[int]) -> Row:
    columns = zip(starts, ends, strict=True)
    return Row([list(_paragraphs([line[start:end] for line in lines])) for start, end in columns])


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    for is_empty, part in itertools.groupby(lines, lambda line: not line.strip()):
        if not is_empty:
            yield "\n".join(line.replace(_FILLER, "").rstrip() for line in part)


def _is_simple(row: Row) -> bool:
    """Whether the cells have only paragraphs."""
    return all(map(_is_plain, row.cells))


def _is_plain(cell: Sequence[str]) -> bool:
    indents = {len(line) - len(line.lstrip()) for text in cell for line in text.split("\n")}
    blocks = (_BLOCK.match(text.strip()) for text in cell if is_worded(text))
    return not any(blocks) and (len(indents) < 2 or not any(map(is_worded, cell)))


def _line(text: str) -> str:
    """A paragraph in one line."""
    return " ".join(text.split())


def _apart(paragraphs: Sequence[str]) -> Iterator[str]:
    """The paragraphs with empty lines between them."""
    for number, text in enumerate(paragraphs):
        if number:
            yield ""
        yield text


def _drawn(line: str) -> str:
    """A line with a character for each column."""
    return "".join(char + _FILLER * (width_of(char) - 1) for char in line)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))
