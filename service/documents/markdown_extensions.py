"""Rules for what MkDocs, Obsidian, VitePress, Docusaurus, Jekyll and Hugo add to Markdown."""

from __future__ import annotations

import functools

import regex
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from service.documents.segments import is_worded

_ATTRIBUTE = r"""(?:[#.][\w:.-]++|[\w:.-]++=(?:"[^"\n]*+"|'[^'\n]*+'|[^\s"'{}]++)|data-[\w-]++)"""
ATTRIBUTES = rf"\{{:?[ \t]*+{_ATTRIBUTE}(?:[ \t]++{_ATTRIBUTE})*+[ \t]*+\}}"
"""Such as `{#id .class width=50%}`."""
_SPACES = "\u00a0\u2007\u2009\u202f"
_TEMPLATE = (
    r"(?:\{\{[^\n]{1,200}?\}\}|\{%[^\n]{1,200}?%\}|\{\#(?=[\s-])[^{}\n]{1,200}?\#\}"
    r"|\{\$[\w.]++(?:[^{}$\n]|\{[^{}$\n]*+\}){0,200}+\})"
)
"""Such as `{{a}}`, `{% b %}`, `{# c #}` and `{$C:"{#d}"}`, whose dollar begins no formula."""
_REFERENCE = (
    r"\{(?:std:)?(?:ref|doc|term|any|download)\}"
    r"`(?P<text>[^\s`<>]++(?:[ ][^\s`<>]++)*+)[ ]<[^<>`\n]++>`"
)
"""A role of MyST with a text before its target."""
_KEPT = {
    "footnote": regex.compile(r"\[\^[^\[\]\s]++\](?!\([^\s()]*+\))"),
    "wikilink": regex.compile(r"!\[\[[^\[\]\n]++\]\]|\[\[[^\[\]|\n]++\]\](?![(\[])"),
    "icon": regex.compile(r"(?<![\w:]):[a-z\d_+][a-z\d_+-]*+:(?![\w:])"),
    "keys": regex.compile(r"\+\+[\w\"-]++(?:\+[\w\"-]++)*+\+\+"),
    "formula": regex.compile(r"\\\((?:[^\\\n]|\\(?!\))){1,300}+\\\)"),
    "template": regex.compile(_TEMPLATE),
    "label": regex.compile(r"\\@ref\([^()\n]++\)|\(ref:[\w-]++\)"),
    "include": regex.compile(r"(?i)\[!(?:code[\w#+-]*+|include) ?\[[^\[\]\n]*+\]\([^()\n]*+\)\]"),
    "role": regex.compile(
        rf"(?!{_REFERENCE})\{{[A-Za-z][\w:.+-]*+\}}(?:`[^`\n]++`(?!`)|``[^\n]*?[^`\n]``(?!`))"
    ),
    "comment": regex.compile(r"\{>>(?:(?!<<\})[^\n]){1,400}+<<\}"),
    "kept": regex.compile(r"\{~~(?:(?!~~\})[^\n]){1,400}+~~\}"),
    "attributes": regex.compile(ATTRIBUTES),
    "space": regex.compile(rf"(?:[{_SPACES}]|&(?:nbsp|ensp|emsp|thinsp|#160|#[xX]0*[aA]0);)++"),
}
"""What stays, by the names of its tokens."""
_PAIRS = {
    "critic": regex.compile(r"\{(\+\+|--|==)(?P<text>(?!\s)(?:(?!\1\})[^\n]){1,400}+(?<!\s))\1\}"),
    "mark": regex.compile(r"(==|\^\^)(?P<text>(?![=^\s])(?:(?!\1)[^\n])++(?<![=^\s]))\1(?![=^])"),
    "wikilink": regex.compile(r"\[\[[^\[\]|\n]++\|(?P<text>[^\[\]\n]++)\]\]"),
    "reference": regex.compile(_REFERENCE),
}
_AFTER_TEXT = regex.compile(
    rf"{ATTRIBUTES}|\((?:{_TEMPLATE}|[^\s(){{}}])++\)|\[(?=\S)[^\[\]\n]++\](?!\()(?<!\w\[.{{0,80}})"
)
"""What makes `[text]` more than brackets: attributes, an address with a template, or the name of a
definition elsewhere."""
_WORD = regex.compile(r"[A-Za-z\d_]")
_NO_FORMULA = regex.compile(
    r"\$(?:[^$`]*+(?:`++[^$`]*+`++[^$`]*+)*+`++[^$`]*+|[^$\[\]]*+\]\([^$)]*+)\$"
)
"""A dollar whose next one is inside code or the address of a link."""
_NOTE = regex.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]*+[\w -]++|===[!+]?[ \t]++(?=\"))(?:\"(?P<title>[^\n]*)\")?[ \t]*+"
)
_INDENT = 4
_VERBATIM = regex.compile(
    r"""\{(?:\{[<%]|%)-?[ \t]*+(?P<name>highlight|code[\w-]*+|mermaid|math|katex|latex|plantuml)\b
        (?![^{}\n]*/[>%]\}\})
    |(?P<template>\{[{%])(?:(?![}%]\})[^\n])*+$
    |(?P<bracket>\\\[)[ \t]*+$|\\begin\{(?P<name>\w++\*?)\}|(?P<comment>%%)
    |(?P<chunk>```++\{\w[^\n`]*+`[^\n]*\}[ \t]*+$)""",
    regex.X,
)
"""The beginning of a template with code or of several lines, a formula of LaTeX, a comment of
Obsidian, or a chunk of R Markdown whose options have a code mark."""
_ENDS = {
    "template": regex.compile(r"(?m)[}%]\}[ \t]*+$"),
    "bracket": regex.compile(r"\\\]"),
    "comment": regex.compile(r"(?m)%%[ \t]*+$"),
    "chunk": regex.compile(r"(?m)^[ \t]*+```++[ \t]*+$"),
}
_LINE = regex.compile(
    r"""(?::{3,}+[ \t]*+(?:\{[^}\n]*+\}|[\w-]*+)
        (?:\[(?P<title>[^\n]*)\](?:\{[^}\n]*+\})?|[ \t]++(?![\w-]++[=:])(?P<title>[^\n]*+))?
    |\*\[[^\]\n]++\]:[ \t]++(?P<title>[^\n]*+)
    |\[(?P<label>[^\]\n]++)\]:[ \t]*+[^\n]*?(?:\{\{|\{%)[^\n]*+
    |:::[^\n]*+|(?:\{%[^\n]*?%\}|\{\{[<%][^\n]*?[%>]\}\}|[ \t])++
    |\([^()\n]++\)=|\+{3}(?:[ \t]*+\{[^{}\n]*+\})?
    |\{\*[^\n]*\*\}
    |\^[A-Za-z\d-]++|\[TOC\]|\{:[ ]?toc[^}\n]*\}|-+8<-+[^\n]*+|<<<[ \t]?[@./][^\n]*+|"""
    rf"{ATTRIBUTES})[ \t]*+",
    regex.X,
)
"""A line that stays but for its title: of a container such as `::: warning`, an abbreviation such
as `*[HTML]: ...`, a definition with a template, a template, a target or mark of MyST, the name of a
block, a table of contents, an inclusion, or the attributes of a block."""
SHOWN = regex.compile(
    r"""(?<=[\s{])(?:alt(?:-text)?|aria-label|caption|description|(?:fig|tbl)-(?:alt|cap)|heading|label
    |placeholder|subtitle|summary|text|title|tooltip)\s*+=\s*+"(?P<title>[^"\\{}<>\n]*+)\"""",
    regex.X,
)
"""An attribute with a text."""
_MODULE = regex.compile(
    r"import\s++(?:(?:(?!\sfrom\s)[^\n'\"])++\sfrom\s*+)?['\"]|import\s++\{\s*+$"
    r"|export\s++(?:(?:const|let|var|type|interface|async|function|class)\s++[\w$]|default\s|[{*])"
)
_LONGEST = 200
"""The most lines of what begins and ends with a line of its own."""


def add_extensions(parser: MarkdownIt) -> None:
    for char in (*_SPACES, "("):
        parser.inline.add_terminator_char(char)
    for name, pattern in _KEPT.items():
        parser.inline.ruler.before("escape", name, functools.partial(_kept, name, pattern))
    parser.inline.ruler.before("math_inline", "dollar", _dollar)
    parser.inline.ruler.before("link", "pair", _pair)
    parser.inline.ruler.after("link", "bracketed", _bracketed)
    for block, rule in (("verbatim", _verbatim), ("line", _line)):
        parser.block.ruler.before("fence", block, rule, {"alt": ["paragraph", "list"]})
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


def _dollar(state: StateInline, silent: bool) -> bool:
    """A dollar that is a character of the text, such as that of `$HOME`."""
    if not _NO_FORMULA.match(state.src, state.pos):
        return False
    if not silent:
        state.pending += "$"
    state.pos += 1
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
    """`[text]` with what makes it more than brackets, or `^[text]`, a footnote."""
    start, is_note = state.pos, state.src.startswith("^[", state.pos)
    if not (is_note or state.src.startswith("[", start)):
        return False
    end = state.md.helpers.parseLinkLabel(state, start + is_note)
    if is_note and end > 0:
        if not silent:
            state.push("note", "", 0)
        state.pos = end + 1
        return True
    after = _AFTER_TEXT.match(state.src, end + 1, state.posMax) if end > 0 else None
    if after is None or _WORD.match(state.src, start - 1, start):
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
        if label := found["label"]:
            definition = {"href": "", "title": ""}
            state.env.setdefault("references", {})[normalizeReference(label)] = definition
        push_title(state, found, first, first + 1)
        push_attributes(state, first, first + 1)
        state.line = first + 1
    return True


def _verbatim(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    found = _VERBATIM.match(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    last = min(last, first + _LONGEST)
    end = _end_of(found).search(state.src, found.end(), state.eMarks[last - 1])
    if end is None:
        return False
    if not silent:
        state.line = next(n for n in range(first, last) if state.eMarks[n] >= end.end()) + 1
    return True


def _end_of(begin: regex.Match[str]) -> regex.Pattern[str]:
    if end := _ENDS.get(begin.lastgroup or ""):
        return end
    name = regex.escape(begin["name"])
    return regex.compile(rf"(?:\{{(?:\{{[<%]|%)-?[ \t]*+(?:/[ \t]*+|end)|\\end\{{){name}(?![\w*-])")


def push_title(
    state: StateBlock, found: regex.Match[str], first: int, last: int, kind: str = "heading"
) -> None:
    """Push the title that is found in the first of these lines, and the column where it stands."""
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = (found["title"] or "").strip(), [first, last], []
    token.meta |= {"kind": kind, "column": found.start("title") - state.bMarks[first]}


def push_attributes(state: StateBlock, first: int, last: int) -> None:
    """Push the texts in attributes of tags or templates in these lines."""
    for number in range(first, last):
        for found in SHOWN.finditer(state.src, state.bMarks[number], state.eMarks[number]):
            if is_worded(found["title"]):
                push_title(state, found, number, last, "attribute")


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
    push_title(state, found, first, end)
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
    last = min(last, first + _LONGEST)
    end, depth = last, 0
    for line in range(first, last):
        if state.isEmpty(line) and depth <= 0:
            end = line
            break
        if state.isEmpty(line):
            end = min(end, line)
        code = state.src[state.bMarks[line] : state.eMarks[line]]
        depth += sum(code.count(one) - code.count(other) for one, other in ("()", "[]", "{}"))
    state.line = end
    return True
