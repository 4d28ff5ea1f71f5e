"""Rules for the tables of Pandoc, whose columns are drawn with spaces: they stay as they are."""

from __future__ import annotations

import itertools

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_GRID = regex.compile(r"\+(?:[-=:]++\+)++[ \t]*+")
_COLUMNS = regex.compile(r"-{2,}+(?:[ \t]++-{2,}+)++[ \t]*+")
_RULE = regex.compile(r"-{4,}+[ \t]*+")
_MOST_HEAD_LINES = 8


def add_tables(parser: MarkdownIt) -> None:
    parser.block.ruler.before("verbatim", "columns", _table)


def _table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A table of a grid, or one whose columns have lines of dashes above, or below their heads. An
    empty line ends it, unless it began with a line of dashes through all columns."""
    if state.is_code_block(first):
        return False
    lines = itertools.takewhile(lambda n: not state.isEmpty(n), range(first, last))
    head = list(itertools.islice(lines, _MOST_HEAD_LINES))
    is_ruled = _is(_RULE, state, first)
    num_heads = len(head) if is_ruled else 2
    has_columns = any(_is(_COLUMNS, state, n) for n in head[:num_heads])
    if not (has_columns or _is(_GRID, state, first)):
        return False
    rows = range(first + len(head), last)
    if is_ruled:
        end = next((n + 1 for n in rows if _is(_RULE, state, n)), last)
    else:
        end = next((n for n in rows if state.isEmpty(n)), last)
    if not silent:
        state.line = end
    return True


def _is(pattern: regex.Pattern[str], state: StateBlock, number: int) -> bool:
    begin = state.bMarks[number] + state.tShift[number]
    return pattern.fullmatch(state.src, begin, state.eMarks[number]) is not None
