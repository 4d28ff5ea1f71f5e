"""Rules for MDX: Markdown with tags of JSX and expressions of JavaScript in place of HTML."""

from __future__ import annotations

import regex
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from service.documents.markdown_extensions import push_attributes

_PART = r"""[^{}"'`/]++|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`[^`]*+`|/\*[\s\S]*?\*/|["'`/]"""
_MOST_BRACES = 6


def _nested(depth: int) -> str:
    """An expression with at most so many braces in each other."""
    return rf"\{{(?:{_PART}{f'|{_nested(depth - 1)}' if depth > 1 else ''})*+\}}"


_EXPRESSION = _nested(_MOST_BRACES)
_ATTRIBUTE = rf"""[\w$:.-]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|{_EXPRESSION}))?|{_EXPRESSION}"""
_TAG = rf"<(?:/?>|/?[A-Za-z_$][\w$.:-]*+(?:\s++|{_ATTRIBUTE})*+/?>)"
_INLINE = regex.compile(rf"{_EXPRESSION}|{_TAG}")
_LINES = regex.compile(rf"(?m)(?:[ \t]*+(?:{_EXPRESSION}|{_TAG}))++[ \t]*+$")
_LONGEST = 2_000
"""The most characters of what has no text."""


def add_jsx(parser: MarkdownIt) -> None:
    parser.disable(["code", "html_block", "autolink"])
    parser.inline.ruler.before("escape", "jsx", _inline)
    parser.block.ruler.before("fence", "jsx", _lines, {"alt": ["paragraph", "list"]})
    parser.block.ruler.at("paragraph", _paragraph)


def _inline(state: StateInline, silent: bool) -> bool:
    """A tag, which may be one of a pair, or an expression, which reads as a word."""
    limit = min(state.posMax, state.pos + _LONGEST)
    found = _INLINE.match(state.src, state.pos, limit)
    if found is None:
        return False
    if not silent:
        is_word = found.group().startswith("{") and not found.group().startswith("{/*")
        state.push("template" if is_word else "html_inline", "", 0).content = found.group()
    state.pos = found.end()
    return True


def _lines(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Lines with nothing but tags and expressions."""
    begin = state.bMarks[first] + state.tShift[first]
    found = _LINES.match(state.src, begin, min(state.eMarks[last - 1], begin + _LONGEST))
    if found is None:
        return False
    if not silent:
        ends = (line for line in range(first, last) if state.eMarks[line] >= found.end())
        state.line = next(ends) + 1
        push_attributes(state, first, state.line)
    return True


def _paragraph(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A paragraph as CommonMark's, but what begins another block ends it at any depth, for no line
    of MDX is code because of its indentation."""
    rules = state.md.block.ruler.getRules("paragraph")
    outer = state.parentType, state.listIndent
    state.parentType, state.listIndent = "paragraph", -1
    end = first + 1
    while end < last and not state.isEmpty(end):
        if state.sCount[end] >= 0 and any(rule(state, end, last, True) for rule in rules):
            break
        end += 1
    state.parentType, state.listIndent = outer
    state.line = end
    state.push("paragraph_open", "p", 1).map = [first, end]
    token = state.push("inline", "", 0)
    token.content = state.getLines(first, end, state.blkIndent, False).strip()
    token.map, token.children = [first, end], []
    state.push("paragraph_close", "p", -1)
    return True
