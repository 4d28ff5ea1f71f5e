"""Rules for what MkDocs, Obsidian, VitePress, Docusaurus, Jekyll and Hugo add to Markdown."""

from __future__ import annotations

import functools

import regex
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_ATTRIBUTE = r"""(?:[#.][\w:.-]++|[\w:.-]++=(?:"[^"\n]*+"|'[^'\n]*+'|[^\s"'}]++))"""
ATTRIBUTES = rf"\{{:?[ \t]*+{_ATTRIBUTE}(?:[ \t]++{_ATTRIBUTE})*+[ \t]*+\}}"
"""Such as `{#id .class width=50%}`."""
_SPACES = "\u00a0\u2007\u2009\u202f"
_TEMPLATE = r"(?:\{\{[^\n]{1,200}?\}\}|\{%[^\n]{1,200}?%\})"
_KEPT = {
    "footnote": regex.compile(r"\[\^[^\]\s]++\]"),
    "wikilink": regex.compile(r"!\[\[[^\[\]\n]++\]\]|\[\[[^\[\]|\n]++\]\](?![(\[])"),
    "icon": regex.compile(r"(?<![\w:]):[a-z\d_+][a-z\d_+-]*+:(?![\w:])"),
    "template": regex.compile(_TEMPLATE),
    "attributes": regex.compile(ATTRIBUTES),
    "space": regex.compile(rf"(?:[{_SPACES}]|&(?:nbsp|ensp|emsp|thinsp|#160|#[xX]0*[aA]0);)++"),
}
"""What stays, by the names of its tokens."""
_PAIRS = {
    "mark": regex.compile(r"==(?P<text>(?![=\s])(?:(?!==)[^\n])++(?<![=\s]))==(?!=)"),
    "wikilink": regex.compile(r"\[\[[^\[\]|\n]++\|(?P<text>[^\[\]\n]++)\]\]"),
}
_AFTER_TEXT = regex.compile(rf"{ATTRIBUTES}|\((?:{_TEMPLATE}|[^\s(){{}}])++\)")
"""What makes `[text]` more than brackets: attributes, or an address with a template."""
_NOTE = regex.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]++[\w -]++|===[!+]?[ \t]++(?=\"))(?:\"(?P<title>[^\n]*)\")?[ \t]*+"
)
_INDENT = 4
_LINE = regex.compile(
    r"""(?::{3,}+[ \t]*+(?:\{[^}\n]*+\}|[\w-]*+)
        (?:\[(?P<title>[^\n]*)\](?:\{[^}\n]*+\})?|[ \t]++(?![\w-]++[=:])(?P<title>[^\n]*+))?
    |\*\[[^\]\n]++\]:[ \t]++(?P<title>[^\n]*+)
    |:::[^\n]*+|(?:\{%[^\n]*?%\}|\{\{[<%][^\n]*?[%>]\}\}|[ \t])++
    |\^[A-Za-z\d-]++|\[TOC\]|\{:[ ]?toc[^}\n]*\}|-+8<-+[^\n]*+|<<<[ \t]?[@./][^\n]*+)[ \t]*+""",
    regex.X,
)
"""A line that stays but for its title: of a container such as `::: warning`, an abbreviation such
as `*[HTML]: ...`, a template, the name of a block, a table of contents or an inclusion."""
_MODULE = regex.compile(
    r"import\s++(?:(?:(?!\sfrom\s)[^\n'\"])++\sfrom\s*+)?['\"]|import\s++\{\s*+$"
    r"|export\s++(?:(?:const|let|var|type|interface|async|function|class)\s++[\w$]|default\s|[{*])"
)
_LONGEST_MODULE = 500


def add_extensions(parser: MarkdownIt) -> None:
    for char in _SPACES:
        parser.inline.add_terminator_char(char)
    for name, pattern in _KEPT.items():
        parser.inline.ruler.before("link", name, functools.partial(_kept, name, pattern))
    parser.inline.ruler.before("link", "pair", _pair)
    parser.inline.ruler.after("link", "bracketed", _bracketed)
    parser.block.ruler.before("fence", "line", _line, {"alt": ["paragraph", "list"]})
    parser.block.ruler.before("fence", "note", _note)
    parser.block.ruler.before("fence", "module", _module)


def _kept(name: str, pattern: regex.Pattern[str], state: StateInline, silent: bool) -> bool:
    found = pattern.match(state.src, state.pos, state.posMax)
    if found is None or (name == "wikilink" and _is_reference(state, found.group())):
        return False
    if not silent:
        state.push(name, "", 0)
    state.pos = found.end()
    return True


def _is_reference(state: StateInline, link: str) -> bool:
    """Whether `[[name]]` is a link in brackets."""
    return normalizeReference(link.strip("![]")) in state.env.get("references", {})


def _pair(state: StateInline, silent: bool) -> bool:
    """Marked text such as `==text==`, or a link such as `[[page|text]]`."""
    for tag, pattern in _PAIRS.items():
        if found := pattern.match(state.src, state.pos, state.posMax):
            _push_pair(state, silent, tag, found.span("text"), found.end())
            return True
    return False


def _bracketed(state: StateInline, silent: bool) -> bool:
    """`[text]` with attributes, or with an address that has a template."""
    start = state.pos
    if not state.src.startswith("[", start):
        return False
    end = state.md.helpers.parseLinkLabel(state, start)
    after = _AFTER_TEXT.match(state.src, end + 1, state.posMax) if end >= 0 else None
    if after is None:
        return False
    _push_pair(state, silent, "span", (start + 1, end), after.end())
    return True


def _push_pair(
    state: StateInline, silent: bool, tag: str, inner: tuple[int, int], end: int
) -> None:
    """Push what stands from the state's position to the end, with the tokens of its inner text."""
    begin, limit = state.pos, state.posMax
    if not silent:
        state.push(f"{tag}_open", tag, 1).markup = state.src[begin : inner[0]]
        state.pos, state.posMax = inner
        state.md.inline.tokenize(state)
        state.pos, state.posMax = inner[1], limit
        state.push(f"{tag}_close", tag, -1).markup = state.src[inner[1] : end]
    state.pos = end


def _line(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    found = _LINE.fullmatch(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    if not silent:
        _push_title(state, found["title"], first, first + 1)
        state.line = first + 1
    return True


def _push_title(state: StateBlock, title: str | None, first: int, last: int) -> None:
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = (title or "").strip(), [first, last], []


def _note(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A note or tab of MkDocs: a line with a title, and what is indented below it."""
    begin = state.bMarks[first] + state.tShift[first]
    found = _NOTE.fullmatch(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    if silent:
        return True
    end = first + 1
    while end < last and (state.isEmpty(end) or state.sCount[end] >= state.blkIndent + _INDENT):
        end += 1
    _push_title(state, found["title"], first, end)
    outer, state.blkIndent, state.lineMax = state.blkIndent, state.blkIndent + _INDENT, end
    state.md.block.tokenize(state, first + 1, end)
    state.blkIndent, state.lineMax, state.line = outer, last, end
    return True


def _module(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Imports and exports of MDX, until an empty line outside brackets."""
    begin = state.bMarks[first] + state.tShift[first]
    if state.level or begin > state.bMarks[first]:
        return False
    if not _MODULE.match(state.src, begin, state.eMarks[first]):
        return False
    last = min(last, first + _LONGEST_MODULE)
    ends = [line for line in range(first + 1, last) if state.isEmpty(line)] + [last]
    state.line = next((end for end in ends if _is_closed(state, begin, end)), ends[0])
    return True


def _is_closed(state: StateBlock, begin: int, line: int) -> bool:
    """Whether no bracket is open between the start and a line."""
    code = state.src[begin : state.eMarks[line - 1]]
    return all(code.count(one) <= code.count(other) for one, other in ("()", "[]", "{}"))
