"""The blocks of reStructuredText with text, found as docutils finds them.

Grammar: https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.documents.rst_directives import SHOWN, Argument, argument_of, has_text
from service.documents.rst_lines import Lines, SourceLines
from service.documents.rst_marks import NAME
from service.documents.rst_tables import Table, read_grid, read_simple
from service.documents.rst_text import normalized
from service.errors import InvalidDocument

_ROMAN = r"(?=[mdclxvi])m*+(?:cm|cd|d?c{0,3}+)(?:xc|xl|l?x{0,3}+)(?:ix|iv|v?i{0,3}+)"
_WORD = r"(?:[A-Za-z][\w-]*+|<[^<>\n]++>)"
_FLAG = rf"(?:[-+][A-Za-z0-9](?:\ ?{_WORD})?|(?:--|/)[A-Za-z0-9][\w-]*+(?:[ =]{_WORD})?)"
START = regex.compile(
    rf"""
    (?P<item>[-*+•‣⁃](?:[ \t]++|$))
    |(?P<numbered>\(?(?:\d++|[A-Za-z]|{_ROMAN}|(?i:{_ROMAN})|\#)[.)](?:[ \t]++|$))
    |:(?![:\ ])(?P<field>(?:[^:\\\n]|\\.|:(?![ \t`]|$))++)(?<!\ ):(?:[ \t]++|$)
    |(?P<inside>{_FLAG}(?:,\ {_FLAG})*+(?:\ ?(?:\ |\t)[ \t]*+|$)(?<!\w\ ))
    |(?P<code>>>>(?:\ |$))
    |(?P<verse>\|(?:[ \t]++|$))
    |(?P<grid>\+-[-+]+-\+$)
    |(?P<table>=++(?:\ ++=++)++$)
    |(?P<explicit>\.\.(?:[ \t]++|$))
    |(?P<skipped>__(?:[ \t]++|$))
    |(?P<ruled>[!-/:-@\[-`{{-~])(?P=ruled)*+$
    """,
    regex.X,
)
"""How lines begin that are no paragraph."""
_OPTION = regex.compile(r":(?![: ])(?P<name>[^:\n]++)(?<!\ ):(?:[ \t]++|$)")
_BORDER = regex.compile(r"=++[ =]*+$")
_RULE = regex.compile(r"(?P<char>[!-/:-@\[-`{-~])(?P=char)*+$")
_QUOTE = regex.compile(r"[!-/:-@\[-`{-~]")
_NOTE = regex.compile(rf"\[(?:\d++|\#(?:{NAME})?|\*|{NAME})\](?:[ \t]++|$)")
_TARGET = regex.compile(
    r"_(?:_|(?P<name>(?![_ ])(?:`[^`]++`|(?:[^:\\]|\\.|:(?!\ |$))++))):(?:[ \t]++|$)|_[^:]*+$"
)
_DIRECTIVE = regex.compile(
    rf"(?P<substitution>\|(?![\s|])[^|]++\|[ \t]++)?(?P<name>{NAME})\ ?::(?:[ \t]++|$)"
)
_NUMBERED = regex.compile(r"(?:(?:v?\d\S*+|next|NEXT)(?:[ \t]++|$))++")
_STAY = regex.compile(
    r"(?i)(?:address|authors?|contact|copyright|date|no(?:comments|search)|organization|orphan"
    r"|revision|r?type|status|tocdepth|vartype|version)(?:\s.*+)?"
)
"""Fields whose texts are names."""
_SHORTEST_RULE = 4
_MOST_LEVELS = 100


class Heading(NamedTuple):
    """A heading: where it and its lines begin and end, the line below it, the spaces before it, and
    how its lines end."""

    start: int
    end: int
    line: str
    is_overlined: bool
    inset: str
    end_of_line: str


@dataclass(frozen=True)
class TextBlock:
    """A text and where it stands. `is_attribute`: it has no marks; `before`: the line break before
    its translation, or between the lines of a table; `is_before_code`: two colons end it."""

    start: int
    end: int
    text: str
    is_attribute: bool = False
    heading: Heading | None = None
    before: str = ""
    is_before_code: bool = False
    table: Table | None = None


_Found = Generator[TextBlock, None, int]
"""Yields the texts of a block, and returns the number of the line behind it."""


class Blocks:
    """The blocks of a file. Lines are without the indentation of their block."""

    def __init__(self, source: str) -> None:
        self._source, self.targets = SourceLines(source), set[str]()
        self._breaks: dict[int, str] = {}
        self._depth = 0
        self._readers: dict[str | None, Callable[..., _Found]] = {
            "item": self._item,
            "numbered": self._numbered,
            "field": self._field,
            "inside": self._inside,
            "code": self._code,
            "verse": self._verse,
            "grid": self._grid,
            "table": self._table,
            "explicit": self._explicit,
            "skipped": self._skipped,
            "ruled": self._ruled,
        }

    def read(self) -> Iterator[TextBlock]:
        yield from self._body(self._source.lines())

    def _body(self, lines: Lines) -> Iterator[TextBlock]:
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise InvalidDocument("the file is nested too deeply")
        number = 0
        while number < len(lines):
            number = yield from self._block(lines, number)
        self._depth -= 1

    def _block(self, lines: Lines, number: int) -> _Found:
        text = self._source.line(lines, number)
        if not text:
            return number + 1
        if text[0].isspace():
            end = self._source.end(lines, number)
            yield from self._body(self._source.dedented(lines[number:end]))
            return end
        if found := START.match(text):
            end = yield from self._readers[found.lastgroup](lines, number, found)
            if end > number:
                return end
        return (yield from self._paragraph(lines, number))

    def _content(self, lines: Lines, number: int, start: int) -> tuple[list[Span], int]:
        """The rest of a line and the lines after it that are indented -> them, and the line behind
        them."""
        end = self._source.end(lines, number + 1)
        first = Span(min(lines[number].start + start, lines[number].end), lines[number].end)
        content = [first, *self._source.dedented(lines[number + 1 : end])]
        self._note_break(content)
        return content, end

    def _note_break(self, content: Lines) -> None:
        """A paragraph that begins behind a mark becomes one line: it needs a line of its own where
        only its other lines show how far the content is indented."""
        first, behind = content[0], self._source.empty(content, 1)
        begins = any(self._source.line(content, n)[:1].strip() for n in range(behind, len(content)))
        if first.end > first.start and behind > 1 and behind < len(content) and not begins:
            self._breaks[first.start] = self._source.text[first.end : content[1].start]

    def _inside(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        """What has blocks behind its mark."""
        content, end = self._content(lines, number, found.end())
        yield from self._body(content)
        return end

    def _item(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        width = found.end()
        if width == len(found.string):
            return (yield from self._inside(lines, number, found))
        end = self._source.end(lines, number + 1, width)
        first = Span(lines[number].start + width, lines[number].end)
        yield from self._body(
            [first, *(self._source.cut(line, width) for line in lines[number + 1 : end])]
        )
        return end

    def _numbered(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        """An item, if the next line does not go on with a sentence that begins with a number."""
        following = self._source.line(lines, number + 1)
        if following and not following[0].isspace() and not _is_numbered(following):
            return number
        return (yield from self._item(lines, number, found))

    def _field(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        if _STAY.fullmatch(found["field"]):
            return self._source.end(lines, number + 1)
        return (yield from self._inside(lines, number, found))

    def _code(self, lines: Lines, number: int, _: regex.Match[str]) -> _Found:
        """What ends at an empty line."""
        yield from ()
        return self._source.empty(lines, number)

    def _verse(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        end = number + 1
        while self._source.line(lines, end)[:1].isspace():
            end += 1
        content, _ = self._content(lines[:end], number, found.end())
        yield from self._paragraph_of(content)
        return end

    def _grid(self, lines: Lines, number: int, _: regex.Match[str]) -> _Found:
        end = self._source.empty(lines, number)
        yield from self._table_of(lines[number:end], read_grid)
        return end

    def _table_of(
        self, lines: Lines, read: Callable[[Sequence[str]], Table | None]
    ) -> Iterator[TextBlock]:
        """The table in these lines, if it is not left as it is."""
        drawn = [self._source.line(lines, number) for number in range(len(lines))]
        if len(lines) > 1 and not any("\t" in line for line in drawn) and (table := read(drawn)):
            start, end = lines[0].start, lines[-1].end
            between = self._source.text[lines[0].end : lines[1].start]
            yield TextBlock(start, end, "\n".join(table.texts), before=between, table=table)

    def _table(self, lines: Lines, number: int, _: regex.Match[str]) -> _Found:
        """A table with lines of equals signs, the last of which has an empty line behind it."""
        borders = (
            n for n in range(number + 1, len(lines)) if _BORDER.match(self._source.line(lines, n))
        )
        last = len(lines) - 1
        for count, last in enumerate(borders, 1):
            if count == 2 or not self._source.line(lines, last + 1):
                break
        yield from self._table_of(lines[number : last + 1], read_simple)
        return last + 1

    def _skipped(self, lines: Lines, number: int, _: regex.Match[str]) -> _Found:
        yield from ()
        return self._source.end(lines, number + 1)

    def _explicit(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        text, start = found.string, found.end()
        if start == len(text) and not self._source.line(lines, number + 1):
            return number + 1
        if target := _TARGET.match(text, start):
            self.targets.add(normalized((target["name"] or "").strip("`")))
            return self._source.end(lines, number + 1)
        if note := _NOTE.match(text, start):
            return (yield from self._inside(lines, number, note))
        if directive := _DIRECTIVE.match(text, start):
            content, end = self._content(lines, number, directive.end())
            yield from self._directive(directive["name"], content)
            return end
        return self._source.end(lines, number + 1)

    def _directive(self, name: str, lines: list[Span]) -> Iterator[TextBlock]:
        first = 0 if self._source.line(lines, 0) else 1
        end = next(
            (n for n in range(first, len(lines)) if not self._source.line(lines, n)), len(lines)
        )
        options = next((n for n in range(first, end) if self._option(lines, n)), end)
        argument, content = lines[first:options], lines[end:]
        kind = argument_of(name)
        if kind == "text":
            argument, content = [], [*argument, *content]
        yield from self._argument(kind, argument)
        yield from self._options(lines[options:end])
        if kind == "terms":
            yield from self._definitions(content)
        elif has_text(name):
            yield from self._body(content)

    def _option(self, lines: Lines, number: int) -> regex.Match[str] | None:
        return _OPTION.match(self._source.line(lines, number))

    def _argument(self, kind: Argument | None, lines: Lines) -> Iterator[TextBlock]:
        if kind == "title":
            yield from self._paragraph_of(lines)
        elif kind == "version" and lines:
            found = _NUMBERED.match(self._source.line(lines, 0))
            first = Span(lines[0].start + (found.end() if found else 0), lines[0].end)
            yield from self._paragraph_of([first, *lines[1:]])

    def _options(self, lines: Lines) -> Iterator[TextBlock]:
        """The texts of options that a reader sees."""
        begins = [n for n in range(len(lines)) if self._option(lines, n)]
        for begin, end in itertools.pairwise([*begins, len(lines)]):
            found = self._option(lines, begin)
            if found and found["name"] in SHOWN:
                first = Span(lines[begin].start + found.end(), lines[begin].end)
                value = [first, *lines[begin + 1 : end]]
                yield from self._paragraph_of(value, is_attribute=found["name"] == "alt")

    def _definitions(self, lines: Lines) -> Iterator[TextBlock]:
        """Of terms that links name: they stay."""
        number = 0
        while number < len(lines):
            end = self._source.end(lines, number)
            yield from self._body(self._source.dedented(lines[number:end]))
            number = end + 1

    def _ruled(self, lines: Lines, number: int, found: regex.Match[str]) -> _Found:
        """A heading between two lines, or a line between sections."""
        rule = found.group()
        if len(rule) < _SHORTEST_RULE and len(rule) < len(self._source.line(lines, number + 1)):
            return number
        if (
            self._source.line(lines, number + 2) == rule
            and self._source.line(lines, number + 1).strip()
        ):
            yield self._heading(lines, number + 1, is_overlined=True)
            return number + 3
        is_line = len(rule) >= _SHORTEST_RULE and not self._source.line(lines, number + 1)
        return number + is_line

    def _heading(self, lines: Lines, number: int, *, is_overlined: bool) -> TextBlock:
        line, below = lines[number], lines[number + 1]
        start = self._source.stripped(line).start
        end_of_line = self._source.text[line.end : below.start].lstrip(" \t") or "\n"
        heading = Heading(
            lines[number - is_overlined].start,
            below.end,
            self._source.text[slice(*below)],
            is_overlined,
            self._source.text[line.start : start],
            end_of_line,
        )
        return TextBlock(start, line.end, self._source.text[start : line.end], heading=heading)

    def _paragraph(self, lines: Lines, number: int) -> _Found:
        text, following = self._source.line(lines, number), self._source.line(lines, number + 1)
        if following[:1].isspace():
            return (yield from self._defined(lines, number))
        if _RULE.match(following) and len(following) >= min(_SHORTEST_RULE, len(text)):
            yield self._heading(lines, number, is_overlined=False)
            return number + 2
        end = number + 1
        while (text := self._source.line(lines, end)) and not text[0].isspace():
            end += 1
        yield from self._paragraph_of(lines[number:end])
        if self._source.line(lines, end - 1).endswith("::"):
            return self._end_of_code(lines, end)
        return end

    def _defined(self, lines: Lines, number: int) -> _Found:
        """A term, which stays if it has a kind, and its definition."""
        text, end = self._source.line(lines, number), self._source.end(lines, number + 1)
        if text.endswith("::"):
            yield from self._paragraph_of(lines[number : number + 1])
            return end
        if " : " not in text:
            yield from self._paragraph_of(lines[number : number + 1])
        yield from self._body(self._source.dedented(lines[number + 1 : end]))
        return end

    def _end_of_code(self, lines: Lines, first: int) -> int:
        """The line behind the code that two colons announce: it is indented, or each of its lines
        begins with the same sign."""
        while first < len(lines) and not self._source.line(lines, first):
            first += 1
        text = self._source.line(lines, first)
        if not text or text[0].isspace():
            return self._source.end(lines, first)
        while _QUOTE.match(text) and self._source.line(lines, first).startswith(text[0]):
            first += 1
        return first

    def _paragraph_of(self, lines: Lines, *, is_attribute: bool = False) -> Iterator[TextBlock]:
        """The text of these lines."""
        shown = [self._source.stripped(line) for line in lines]
        shown = [line for line in shown if line.end > line.start]
        if not shown:
            return
        text = "\n".join(self._source.text[slice(*line)] for line in shown)
        start, end = shown[0].start, shown[-1].end
        is_before_code = text.endswith("::")
        if is_before_code:
            text = text.removesuffix(":")
            if not (alone := text.removesuffix(":")) or alone[-1].isspace():
                text, is_before_code = alone.rstrip(), False
                end -= len("::") + len(alone) - len(text)
        before = self._breaks.get(start, "")
        yield TextBlock(start, end, text, is_attribute, None, before, is_before_code)


def _is_numbered(line: str) -> bool:
    found = START.match(line)
    return found is not None and found.lastgroup == "numbered"
