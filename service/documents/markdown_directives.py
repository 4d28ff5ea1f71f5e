"""Rules for MyST: directives, whose text may be Markdown, and comments."""

from __future__ import annotations

from collections.abc import Iterator

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from service.documents.markdown_extensions import push_title
from service.documents.rst_directives import SHOWN

_BEGIN = regex.compile(
    r"(?P<fence>(?P<char>[`~:])(?P=char){2,}+)[ \t]*+"
    r"\{(?P<name>[\w:+-]++)\}[ \t]*+(?P<title>[^\n]*+)"
)
_PROSE = regex.compile(
    r"""admonition|aside|attention|card|caution|danger|deprecated|dropdown|epigraph|error|exercise
    |figure(?:-md)?|grid(?:-item(?:-card)?)?|hint|important|list-table|margin|note|pull-quote
    |rubric|seealso|sidebar|solution|tab-(?:item|set)|table|tip|todo|topic
    |version(?:added|changed)|warning""",
    regex.X,
)
"""Directives with Markdown in a fence of code; others have code there."""
_CODE = regex.compile(
    r"""bibliography|code(?:-block|-cell)?|csv-table|eval-rst|graphviz|image|include|iframe
    |literalinclude|math|mermaid|plantuml|raw|sourcecode|toctree""",
    regex.X,
)
"""Directives without Markdown in a fence of colons."""
_NAMED = frozenset({"figure", "figure-md", "grid"})
"""Directives that begin with an address, a name or numbers in place of a title."""
_OPTION = regex.compile(r":(?P<name>[\w-]++):(?:[ \t]++(?P<title>[^\n]*+))?")
_BLOCK_OF_OPTIONS = "---"
_COMMENT = regex.compile(r"%(?:[ \t][^\n]*+)?")


def add_directives(parser: MarkdownIt) -> None:
    parser.block.ruler.before("verbatim", "directive", _directive, {"alt": ["paragraph", "list"]})
    parser.block.ruler.before("fence", "comment", _comment, {"alt": ["paragraph"]})


def _directive(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    found = _BEGIN.fullmatch(state.src, *_line(state, first))
    if found is None or state.is_code_block(first):
        return False
    name, has_colons = found["name"], found["char"] == ":"
    is_deep = state.level >= state.md.options["maxNesting"]
    if is_deep or not (has_colons or _PROSE.fullmatch(name)):
        return False
    if silent:
        return True
    end = _end(state, found["fence"], first + 1, last)
    if not _CODE.fullmatch(name):
        if name not in _NAMED:
            push_title(state, found, first, first + 1)
        begin = first + 1 + sum(1 for _ in _options(state, first + 1, end))
        state.lineMax, state.level = end, state.level + 1
        state.md.block.tokenize(state, begin, end)
        state.lineMax, state.level = last, state.level - 1
    state.line = min(end + 1, last)
    return True


def _end(state: StateBlock, fence: str, first: int, last: int) -> int:
    """The line that ends what this fence begins."""
    for number in range(first, last):
        text = state.src[slice(*_line(state, number))].rstrip()
        is_fence = text.startswith(fence) and not text.strip(fence[0])
        if is_fence and not state.is_code_block(number):
            return number
    return last


def _options(state: StateBlock, first: int, last: int) -> Iterator[int]:
    """The lines of a directive's options."""
    is_block = first < last and state.src[slice(*_line(state, first))] == _BLOCK_OF_OPTIONS
    for number in range(first, last):
        text = state.src[slice(*_line(state, number))]
        option = _OPTION.fullmatch(state.src, *_line(state, number))
        if not (is_block or option):
            return
        if option and option["name"] in SHOWN:
            push_title(state, option, number, number + 1)
        yield number
        if is_block and number > first and text == _BLOCK_OF_OPTIONS:
            return


def _comment(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    found = _COMMENT.fullmatch(state.src, *_line(state, first))
    if found is None or state.is_code_block(first):
        return False
    if not silent:
        state.line = first + 1
    return True


def _line(state: StateBlock, number: int) -> tuple[int, int]:
    """Where the text of a line is."""
    return state.bMarks[number] + state.tShift[number], state.eMarks[number]
