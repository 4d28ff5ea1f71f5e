"""The inline marks of reStructuredText, found as docutils finds them.

Grammar: https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#inline-markup
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

from model.text.spans import Span

MarkKind = Literal["escape", "emphasis", "literal", "role", "link", "name", "note"]

NAME = r"(?:(?!_)\w)++(?:[-._+:](?:(?!_)\w)++)*+"
"""A name of a role, directive, footnote or target without quotes."""
_WIDE = r"[^\x00-\x7f]"
_BEFORE = rf"[\s\-/:'\"<(\[{{]|(?={_WIDE})[\p{{Ps}}\p{{Pi}}\p{{Pf}}\p{{Pd}}\p{{Po}}]"
_AFTER = rf"[\s\-/:.,;!?'\")\]}}>\\]|(?={_WIDE})[\p{{Pe}}\p{{Pi}}\p{{Pf}}\p{{Pd}}\p{{Po}}]"
MAY_FOLLOW, MAY_PRECEDE = regex.compile(_BEFORE), regex.compile(_AFTER)
"""A character that a mark may follow, and one that it may precede."""
_END = rf"(?:\Z|(?={_AFTER}))"
_START = regex.compile(
    rf"""
    (?P<escape>\\(?:\s|.|\Z))
    |(?:(?<![^\n])|(?<={_BEFORE}))(?:
        (?P<strong>\*\*)(?=\S)
        |(?P<emphasis>\*)(?=[^\s*])
        |(?P<literal>``)(?=\S)
        |(?P<target>_`)(?=\S)
        |(?P<substitution>\|)(?=[^\s|])
        |(?::(?P<role>{NAME}):)?(?P<quoted>`)(?=[^\s`])
        |(?P<note>\[(?:\d++|\#(?:{NAME})?|\*|{NAME})\]_){_END}
        |(?P<address>(?:[A-Za-z][\w+.-]*+://|mailto:)
            (?:[^\s<>"`|\\^{{}}(),;.]|\([^\s()]*+\)|[,;.]++(?=[\w/]))++
            |[\w+-]++(?:\.[\w+-]++)*+@[\w-]++(?:\.[\w-]++)++)
        |(?P<name>{NAME}__?){_END}
        |(?P<word>{NAME})
    )
    """,
    regex.X | regex.S,
)
_UNESCAPED = r"(?<!\s)(?<!(?<!\\)\\)"
_ENDS = {
    "strong": regex.compile(rf"{_UNESCAPED}\*\*{_END}"),
    "emphasis": regex.compile(rf"{_UNESCAPED}\*{_END}"),
    "literal": regex.compile(rf"(?<!\s)``{_END}"),
    "target": regex.compile(rf"{_UNESCAPED}`{_END}"),
    "substitution": regex.compile(rf"{_UNESCAPED}\|_{{0,2}}{_END}"),
    "quoted": regex.compile(rf"{_UNESCAPED}`(?:(?P<link>__?)|:(?P<role>{NAME}):)?{_END}"),
}
_QUOTES = {"'": "'", '"': '"', "(": ")", "[": "]", "{": "}", "<": ">"}
_KINDS: dict[str, MarkKind] = {
    "strong": "emphasis",
    "emphasis": "emphasis",
    "literal": "literal",
    "target": "literal",
    "substitution": "literal",
}


class Mark(NamedTuple):
    """A mark, the text in it, and the name of its role."""

    kind: MarkKind
    start: int
    end: int
    inside: Span
    role: str = ""


def marks(text: str) -> Iterator[Mark]:
    """The marks of a paragraph, in order. Linear time."""
    missing: set[str] = set()
    position = 0
    while start := _START.search(text, position):
        name = start.lastgroup or ""
        found = _mark(text, start, name, missing)
        if found:
            yield found
        position = found.end if found else start.end()


def _mark(text: str, start: regex.Match[str], name: str, missing: set[str]) -> Mark | None:
    """The mark that begins there. `missing`: the marks that have no end any more."""
    if name == "escape":
        return Mark("escape", *start.span(), Span(*start.span()))
    if name in ("note", "name", "address"):
        kind: MarkKind = "literal" if name == "address" else "note" if name == "note" else "name"
        return Mark(kind, *start.span(), Span(*start.span()))
    if name not in _ENDS or name in missing or _is_quoted(text, start):
        return None
    end = _ENDS[name].search(text, start.end() + 1)
    if end is None:
        missing.add(name)
        return None
    inside = Span(start.end(), end.start())
    if name != "quoted":
        return Mark(_KINDS[name], start.start(), end.end(), inside)
    kind = "link" if end["link"] else "role"
    return Mark(kind, start.start(), end.end(), inside, start["role"] or end["role"] or "")


def _is_quoted(text: str, start: regex.Match[str]) -> bool:
    """Whether a mark that might begin stands alone between quotation marks or brackets."""
    before, after = text[max(0, start.start() - 1) : start.start()], text[start.end()]
    return _QUOTES.get(before) == after
