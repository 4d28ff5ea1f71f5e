"""The rule for PyMdown's blocks: `/// note | A title`, options, Markdown, and a line `///`."""

from __future__ import annotations

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from service.documents.markdown_extensions import push_title

_BEGIN = regex.compile(
    r"(?P<fence>/{3,9}+)[ \t]*+(?P<name>[A-Za-z][\w-]*+)[ \t]*+(?:\|[ \t]*+(?P<title>[^\n]*+))?"
)
_UNTITLED = regex.compile(r"(?:[\w-]*-)?caption|define|html|latex")
"""Blocks with a selector, an id or a place where others have a title."""
_INDENT = 4


def add_blocks(parser: MarkdownIt) -> None:
    parser.block.ruler.before("verbatim", "block", _block, {"alt": ["paragraph", "list"]})


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    found = _BEGIN.fullmatch(state.src, *_line(state, first))
    if found is None or state.is_code_block(first):
        return False
    end = _end(state, found["fence"], first + 1, last)
    if end is None or state.level >= state.md.options["maxNesting"]:
        return False
    if silent:
        return True
    if not _UNTITLED.fullmatch(found["name"]):
        push_title(state, found, first, first + 1)
    begin = first + 1
    while begin < end and not state.isEmpty(begin) and state.sCount[begin] >= _indent(state):
        begin += 1
    state.lineMax, state.level = end, state.level + 1
    state.md.block.tokenize(state, begin, end)
    state.lineMax, state.level, state.line = last, state.level - 1, end + 1
    return True


def _end(state: StateBlock, fence: str, first: int, last: int) -> int | None:
    """The line that ends what this fence begins. Where one has no end, none after it has."""
    endless: set[tuple[str, int]] = state.env.setdefault("endless_blocks", set())
    if (fence, last) in endless:
        return None
    for number in range(first, last):
        if state.src[slice(*_line(state, number))].rstrip() == fence:
            return number
    endless.add((fence, last))
    return None


def _indent(state: StateBlock) -> int:
    """The columns before an option of the block."""
    return state.blkIndent + _INDENT


def _line(state: StateBlock, number: int) -> tuple[int, int]:
    """Where the text of a line is."""
    return state.bMarks[number] + state.tShift[number], state.eMarks[number]
