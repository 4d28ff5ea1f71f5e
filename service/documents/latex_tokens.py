"""LaTeX in tokens: commands, braces, formulas, comments, and the text between them.

Nothing is expanded: a command that a file defines is one like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

from service.documents.latex_commands import CODE_ENVIRONMENTS, VERBATIM_ENVIRONMENTS

_Kind = Literal["text", "command", "accent", "begin", "end", "code", "comment", "break", "sign"]

_TOKEN = regex.compile(
    r"""
    (?P<comment>%[^\n]*+(?:\n(?![^\S\n]*+\n)[^\S\n]*+)?)
    |(?P<verb>\\(?:verb|lstinline)\*?(?P<fence>[^\sA-Za-z*\[{])[^\n]*?(?P=fence))
    |\\(?P<edge>begin|end)[^\S\n]*+\{(?P<environment>[^{}\\\n]*+)\}
    |\\(?P<formula>[(\[])
    |(?P<accent>\\(?:["'`^~=.]|[cvuHrk](?=[\s{]))\s*+(?:\{\s*\\?[A-Za-z]?\s*\}|\\[ij](?![A-Za-z])|[A-Za-z]))
    |\\(?P<command>[A-Za-z@]++\*?|\\(?=\*?)|.|\Z)
    |(?P<dollars>\$\$?)
    |(?P<break>[^\S\n]*+\n[^\S\n]*+\n\s*+)
    |(?P<sign>[{}\[\]&])
    |(?P<text>(?:[^%\\${}\[\]&\n]|\n(?![^\S\n]*+\n))++)
    """,
    regex.X | regex.S,
)
_BREAK = "\n\n"


class TexToken(NamedTuple):
    """`name`: of a command or environment, or the sign itself."""

    kind: _Kind
    start: int
    end: int
    name: str = ""


def tokens(source: str) -> list[TexToken]:
    """The tokens of a text, which together are all of it. Linear time."""
    return list(_Lexer(source).read())


class _Lexer:
    def __init__(self, source: str) -> None:
        self._source = source
        self._found: dict[str, tuple[int, int]] = {}
        """Where each closing was looked for last, and where it was."""
        self._ends: dict[str, dict[int, int]] = {}
        """Of environments with code: their ends by their beginnings, by name."""

    def read(self) -> Iterator[TexToken]:
        position = 0
        while found := _TOKEN.match(self._source, position):
            token = self._token(found)
            yield token
            position = token.end

    def _token(self, found: regex.Match[str]) -> TexToken:
        start, end = found.span()
        if name := found["environment"]:
            return self._edge(found, name)
        if formula := found["formula"] or found["dollars"]:
            closing = {"(": r"\)", "[": r"\]"}.get(formula, formula)
            ends = self._end_of_formula(end, closing)
            return TexToken("code", start, ends) if ends else TexToken("sign", start, end, closing)
        if (command := found["command"]) is not None:
            return TexToken("command", start, end, command)
        if sign := found["sign"]:
            return TexToken("sign", start, end, sign)
        if found["verb"]:
            return TexToken("code", start, end)
        kinds: tuple[_Kind, ...] = ("comment", "accent", "break")
        return TexToken(next((kind for kind in kinds if found[kind]), "text"), start, end)

    def _edge(self, found: regex.Match[str], name: str) -> TexToken:
        """An end of an environment, or all of one whose content is code."""
        start, end = found.span()
        if found["edge"] == "end":
            return TexToken("end", start, end, name)
        ends = -1
        if name.rstrip("*") in VERBATIM_ENVIRONMENTS:
            closing = rf"\end{{{name}}}"
            ends = self._find(closing, end) + len(closing)
        elif name.rstrip("*") in CODE_ENVIRONMENTS:
            ends = self._ends_of(name).get(start, -1)
        return (
            TexToken("code", start, ends, name)
            if ends > end
            else TexToken("begin", start, end, name)
        )

    def _end_of_formula(self, start: int, closing: str) -> int:
        """The end of a formula, which has no blank line; 0 if it has no end."""
        position = start
        while (found := self._find(closing, position)) >= 0:
            before = self._source[position:found]
            position = found + len(closing)
            if closing[0] != "$" or (len(before) - len(before.rstrip("\\"))) % 2 == 0:
                is_broken = 0 <= self._find(_BREAK, start) < found
                return 0 if is_broken else position
        return 0

    def _ends_of(self, name: str) -> dict[int, int]:
        """Where the environments of a name end, by where they begin."""
        if name not in self._ends:
            ends: dict[int, int] = {}
            opened: list[int] = []
            edges = regex.compile(rf"\\(begin|end)[^\S\n]*+\{{{regex.escape(name)}\}}")
            for edge in edges.finditer(self._source):
                if edge[1] == "begin":
                    opened.append(edge.start())
                elif opened:
                    ends[opened.pop()] = edge.end()
            self._ends[name] = ends
        return self._ends[name]

    def _find(self, closing: str, start: int) -> int:
        """The next place of a string; -1 if there is none."""
        asked, found = self._found.get(closing, (len(self._source) + 1, -1))
        if not asked <= start <= (found if found >= 0 else start):
            found = self._source.find(closing, start)
            self._found[closing] = start, found
        return found
