"""The lines of AsciiDoc, by how they begin, and the texts in them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import regex

from model.text.spans import Span

_LINE = regex.compile(r"[^\n]*+")
_ADMONITION = r"(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)"
ITEM = regex.compile(
    r"""\A[ \t]*+(?:[-•]|\*++|\.++|\d++\.|[a-zA-Z]\.|[IVXivx]++\)|(?<=\A)<(?:\d++|\.)>)[ \t]++
    (?:\[[ x*]\][ \t]++)?""",
    regex.X,
)
"""The mark of an item of a list, and the box of one that is to be ticked."""
TERM = regex.compile(
    r"\A(?!//[^/])[ \t]*+(?P<term>[^ \t].*?)(?P<mark>:{2,4}|;;)(?:[ \t]++(?P<text>.*+)|$)"
)
HEADING = regex.compile(
    r"""(?P<mark>={1,6}|\#{1,6})[ \t]++(?P<text>.+?)(?:[ \t]++(?P=mark))?
    (?:[ ]\[\[(?P<anchor>[^\[\],]++)[^\[\]]*+\]\])?$""",
    regex.X,
)
RULE = regex.compile(r"\A(?P<char>[-=~^+])(?P=char)*+$")
DELIMITER = regex.compile(
    r"""\A(?:--$|(?P<char>[-.=*_+/])(?P=char){3,}+$|(?P<fence>```+)[^\s`]*+$|(?P<table>[|,:!]={3,}+$))""",
    regex.X,
)
ATTRIBUTES = regex.compile(r"\A\[(?:\]|[\w.#%{,\"'].*\]|\[(?:|[\p{Alpha}_:][^\[\]]*+)\]\])$")
ENTRY = regex.compile(r":(?P<name>!?\w[^:\n]*+):(?:[ \t]++(?P<value>.*+)|$)")
TITLE = regex.compile(r"\.(?P<text>\.?[^ \t.].*+)")
DIRECTIVE = regex.compile(r"(?:ifn?def|ifeval|endif|include)::.*\]$")
MACRO = regex.compile(r"(?P<name>\w[\w-]*+)::(?P<target>(?:[^\s\[][^\[]*+)?)\[(?P<text>.*)\]$")
BREAK = regex.compile(
    r"(?:'{3,}+|<{3,}+|(?P<char>[-*_])(?P<space>[ ]*+)(?P=char)(?P=space)(?P=char))$"
)
ADMONITION = regex.compile(rf"{_ADMONITION}:[ \t]++")
ADMONITIONS = regex.compile(_ADMONITION)
BEGIN = regex.compile(
    rf"""\A(?://|\.\S|>[ ]|\+$|"|{_ADMONITION}:[ ]|[|,:!]=|\[.*\]\s*$
    |<(?:\d++|\.)>[ ]|:!?\w[^:\n]*+:
    |(?:[-•]|\*++|\.++|\d++\.|[a-zA-Z]\.|[IVXivx]++\)|=++|\#++)(?:[ \t]|$)
    |([-.=*_+'`~<])\1++$|```|\w[\w-]*+::\S*\[)""",
    regex.X,
)
"""How lines begin that may be no paragraph."""
ANCHOR = regex.compile(
    r"\[\[(?P<name>[^\[\],]++)|\[[^\[\]#,]*+#(?P<name>[\w:.-]++)|\bid=[\"']?(?P<name>[\w:.-]++)"
)
"""An anchor, or the name of a block."""


BlockKind = Literal["text", "lines", "value", "label"]


class AdocHeading(NamedTuple):
    """A heading: where its line begins, the mark before its text, the line below it and the sign of
    this, the anchor that it has, and how lines end."""

    start: int
    mark: str
    rule: Span | None
    sign: str
    anchor: str
    end_of_line: str


class AdocBlock(NamedTuple):
    """A text and where it stands. `kind`: with marks; with lines that stay; of an attribute of the
    document; of an attribute in brackets. `separator`: of the cells of a table around it. `before`:
    the line break that must stay before it."""

    start: int
    end: int
    kind: BlockKind = "text"
    heading: AdocHeading | None = None
    separator: str = ""
    before: str = ""


def lines_of(text: str, start: int, end: int) -> list[Span]:
    """The lines of a part of a text, without white space at their ends."""
    spans = (found.span() for found in _LINE.finditer(text, start, end))
    return [Span(a, a + len(text[a:b].rstrip())) for a, b in spans if a < b or _is_empty(text, a)]


def _is_empty(text: str, start: int) -> bool:
    """Whether there is an empty line, not only the end of another."""
    return start == 0 or text[start - 1] == "\n"
