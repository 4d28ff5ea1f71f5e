"""The flow of a plain text: tags in it, such as `<b>...</b>`, `{b}...{/b}`, `==...==`,
`[[page|...]]`, `[...](address)`, `[...|address]`, `address[...]` and `\\emph{...}`, the sign
before the key of a menu's entry, escaped characters, and branches of ICU messages."""

from __future__ import annotations

import functools
import html
import html.entities
import itertools
from collections.abc import Iterator, Sequence, Set

import regex

from model.text.spans import Span
from service.translation.markup.choices import (
    find_choices,
    find_in_branch,
    message_branches,
    with_marks,
)
from service.translation.markup.elements import is_block, pair_tags
from service.translation.markup.flow import MARK, FindKept, Flow, FlowBuilder, Kept
from service.translation.markup.scanner import Kind, Token
from service.translation.placeholders import LINE_END, find_kept

_LINE_BREAK = r"(?<=\S)[ \u3000]*+(?:\r\n|\n|\r)[ \u3000]*+(?=\S)"
_LETTERS = "|".join(
    name.removesuffix(";")
    for name, char in html.entities.html5.items()
    if name[-1] == ";" and "À" <= char <= "ſ" and char.isalpha()
)
_LETTER_ENTITY = rf"&(?:{_LETTERS}|\#(?:19[2-9]|2[0-4]\d|25[0-5])|\#[xX][C-Fc-f][\dA-Fa-f]);"
_ESCAPED = (
    r"""(?:\\(?:(?P<char>[%&$\#_{}]|(?<=\p{L}\\)'(?=\p{L}))|(?P<space>[nrt])(?![a-z])
    |(?P<space>n)(?<=[\w.,;:!?)"'%}]\\n)(?<!(?:(?<![^\W_])(?:[A-Za-z]:|\.{1,2})|[/\\](?!n|r\\)[\w.-]*
        |\b[A-Z]{2,})\\n)(?![\w-]*+(?:\.\w|[/\\](?!n|r\\))))
    |(?<=\p{L})&(?:\#0?39|\#x27|apos|rsquo|\#8217);(?=\p{L})
    |"""
    + f"{_LETTER_ENTITY}|{LINE_END})"
)
_WRITTEN, _WRITTEN_OR_BREAK = (
    regex.compile(pattern, regex.X) for pattern in (_ESCAPED, f"{_ESCAPED}|{_LINE_BREAK}")
)
"""Characters that are written with a backslash, as in It\\'s and 100\\%, or as It&#39;s,
Gr&ouml;&szlig;e and %n, and single line breaks. src\\new is a path."""
_SPACES = {"n": "\n", "r": "\r", "t": "\t"}
_LINK = regex.compile(
    r"(?<!\\)!?\[(?P<text>(?=[^\[\]\n]*\p{L})[^\[\]\n]{1,400}+)"
    r"(?P<address>\]\((?=[^()\s]*[/\#.:@])(?:[^()\s]|\([^()\s]*\)){1,2000}+(?:\s\"[^\"\n]*\")?\))"
)
_WIKI_LINK = regex.compile(
    r"\[\[[^\[\]\n]{1,400}\|(?P<text>(?=[^\[\]\n]*\p{L})[^\[\]|\n]{1,400}+)(?P<address>\]\])"
)
_NAMED_LINK = regex.compile(
    r"""
    \[(?P<text>(?=[^\[\]|\n]*\p{L})[^\[\]|\n]{1,400}+)
        (?P<address>\|(?:https?://|mailto:)[^\[\]\s]{1,2000}+\])
    |(?:\b(?:link|xref|mailto|image:?):(?=[^\s:])|\bhttps?://)[^\s\[\]]{1,2000}+(?<![/=?&])
        \[(?P<text>(?=[^\[\]\n]*\p{L})[^\[\]=\n]{1,400}+)(?P<address>\])(?![\w/?&=\#-])
    |(?<![\w<])<<[\w.:/\#-]{1,200}+,[ ]?(?P<text>(?=[^<>\n]*\p{L})[^\s<>][^<>\n]{0,400}+)
        (?P<address>>>)(?![\w>])
    |(?::(?:std:)?(?:ref|doc|term|any|download):|(?<![\w`:])(?=`[^`\n]*`_))
        `(?P<text>(?=[^`<>\n]*\p{L})[^\s`<>]++(?:[ ][^\s`<>]++)*+)
        (?P<address>[ ]<[^<>`\n]{1,2000}+>`(?:__?(?!\w))?)
    """,
    regex.X,
)
"""A link of Jira's, `[...|address]`, of AsciiDoc's, `address[...]`, `xref:page[...]` and
`<<name,...>>`, or of Sphinx's, :doc:`... <page>`."""
_COMMAND = regex.compile(
    r"\\(?:emph|text(?:bf|it|tt|sc|sf|rm)|underline|(?:sub){0,2}section|chapter|part|paragraph|title"
    r"|caption|footnote)\*?\{(?P<text>(?=[^{}\n]*\p{L})[^{}\n]{1,400}+)(?P<address>\})"
)
"""A command of LaTeX around text."""
_LINKS = _LINK, _WIKI_LINK, _NAMED_LINK, _COMMAND
_LINK_NAME = "]("
_KEY = regex.compile(
    r"""(?<![\w&\\;.@\#/-])(?P<sign>&(?=\p{L})|_(?=\p{Lu}|\p{L}+\W*$))(?!\p{L}\)|\w+;|[a-fk-or]\p{Lu}\p{Ll})
    |(?<=(?<![^\s("'])(?:\p{Lu}\p{Ll}{1,12}|(?:\p{L}(?=&)|(?!X)\p{Lu}(?=_))(?=.\p{Ll}{2})))(?P<sign>[&_])(?=\p{Ll})(?!\w+;|innen\b)""",
    regex.X,
)
"""The sign before the letter that is the key of an entry: &Open, _Save, E&xit."""
_LONGEST_ENTRY = 60
_MARK = regex.compile(
    r"""(?<!⟦)(?P<left><)(?P<end>/)?(?P<name>[A-Za-z\d][\w:.-]*+)(?:\s[^<>\n]*+)?(?P<empty>/)?>
    |(?P<left>&lt;)(?P<end>/)?(?P<name>[A-Za-z][\w:.-]*+)(?:\s[^<>&\n]*+)?(?P<empty>/)?&gt;
    |(?P<left>\{\{?|\[)(?P<end>/)?(?P<name>[\w.$@-]{1,40}+)
        (?:(?:\ [\w-]{1,40}+)?=[^\[\]{}\n]{1,400})?(?:\}\}?|\])
    |(?P<left>%)(?:\d\$)?[sd@]
    |(?P<left>(?P<emphasis>(?<!\\)(?<!\\\*)\*{1,3}+|(?<!_)_(?!_)
        |(?<!\w)__(?=\p{Lu}\p{Ll}|\p{Ll}++\s)|(?<=[\p{L}.,:!?])__(?!\w)|~{1,2}+|==|\|\||'{2,3}+))""",
    regex.X,
)
"""A mark that may be a tag. Reserved pieces such as ⟦<1>⟧ contain none."""
_BEFORE_BLOCK = regex.compile(r"[\w>;:.!?。！？]")
_NAMED = frozenset({"<", "&lt;", "["})
"""How marks begin that are tags only if one of their name ends them."""


def text_flow(
    text: str, find: FindKept = find_kept, joins_lines: bool = False, is_spaced: bool = True
) -> Flow:
    """The flow of a plain text. Other tags than pairs around something stay in the text, where
    they are kept strings. If it `joins_lines`, a single line break is read as a space, or as
    nothing unless the language `is_spaced`."""
    builder = FlowBuilder({}, find)
    if branches := message_branches(text):
        builder.add_tag(_message(text, Span(0, len(text)), branches, find), 0, None)
        return builder.build()
    choices = [] if MARK in text else find_choices(text)
    kept = [Kept.of(_message(text, *choice, find)) for choice in choices]
    text = with_marks(text, choices)
    odd = _WRITTEN_OR_BREAK if joins_lines else _WRITTEN
    mixed = _mixed(text)
    position = 0
    for number, (token, partner) in enumerate(_pairs(text, find, is_spaced)):
        _add(builder, odd, mixed, is_spaced, text[position : token.start])
        is_break = _is_break(token, text)
        if is_break and token.kind is Kind.START:
            builder.add_written("\n", "")
        builder.add_tag((text[token.start : token.end],), number, partner)
        if is_break and token.kind is Kind.END:
            builder.add_written("\n", "")
        position = token.end
    _add(builder, odd, mixed, is_spaced, text[position:])
    builder.keep_marks(kept)
    return builder.build()


def _message(
    text: str, span: Span, branches: Sequence[Span], find: FindKept
) -> tuple[str | Flow, ...]:
    """A part of the text, with a flow for each branch in it."""
    parts: list[str | Flow] = []
    position = span.start
    for start, end in branches:
        branch = text_flow(text[start:end], functools.partial(find_in_branch, find))
        parts += [text[position:start], branch]
        position = end
    return (*parts, text[position : span.end])


def _is_break(tag: Token, text: str) -> bool:
    """Whether the tag of a block, such as <p>, is all that parts two texts."""
    if not is_block(tag.name.removeprefix("<").removeprefix("&lt;")):
        return False
    if tag.kind is Kind.END:
        return text[tag.end : tag.end + 1].isalnum()
    return _BEFORE_BLOCK.match(text, max(0, tag.start - 1), tag.start) is not None


def has_marks(text: str) -> bool:
    """Whether there may be tags, escaped characters or branches in the text."""
    is_odd = "{" in text or _may_link(text) or _is_odd(text)
    return is_odd or _MARK.search(text) is not None


def _may_link(text: str) -> bool:
    """Whether there may be links or commands in the text."""
    return "[" in text or "<<" in text or "\\" in text or ">`" in text


def _is_odd(text: str) -> bool:
    """Whether there may be characters that are written in another way."""
    return "&" in text or "\\" in text or "%n" in text


def _mixed(text: str) -> Set[str]:
    """The characters that the text has escaped and also otherwise: these stay as they are, since a
    translation writes all in one way."""
    spellings: dict[str, list[str]] = {}
    for match in _WRITTEN.finditer(text) if _is_odd(text) else ():
        spellings.setdefault(_char(match), []).append(match.group())
    return {
        char
        for char, found in spellings.items()
        if len(set(found)) > 1 or text.count(char) > "".join(found).count(char)
    }


def _char(written: regex.Match[str]) -> str:
    """What an escaped character is read as."""
    if written["char"] or written["space"]:
        return written["char"] or _SPACES[written["space"]]
    char = html.unescape(written.group())
    return "'" if char == "’" else char


def _add(
    builder: FlowBuilder, odd: regex.Pattern[str], mixed: Set[str], is_spaced: bool, text: str
) -> None:
    """Add text with its escaped characters read as themselves, but for the `mixed` ones, and its
    single line breaks, if they are `odd` too, as spaces or not at all."""
    position = 0
    for match in odd.finditer(text):
        builder.add(text[position : match.start()])
        if match.group()[0] in "\\&%":
            char = _char(match)
            builder.add_written(match.group() if char in mixed else char, match.group())
        elif is_spaced or _is_ascii_beside(text, *match.span()):
            builder.add_written(" ", match.group())
        else:
            builder.add_unread(match.group())
        position = match.end()
    builder.add(text[position:])


def _is_ascii_beside(text: str, start: int, end: int) -> bool:
    return text[start - 1].isascii() or text[end].isascii()


def _pairs(text: str, find: FindKept, is_spaced: bool) -> Iterator[tuple[Token, int | None]]:
    """The paired tags with the number of each one's partner, and the sign before a key."""
    tokens = _tokens(text, find, is_spaced)
    partners = {
        index: partner
        for index, partner in pair_tags(tokens).items()
        if tokens[min(index, partner)].end < tokens[max(index, partner)].start
    }
    if not partners and (key := _key(text)):
        yield key, None
    numbers = {index: number for number, index in enumerate(sorted(partners))}
    for index in sorted(partners):
        yield tokens[index], numbers[partners[index]]


def _key(text: str) -> Token | None:
    """The sign before the key of a menu's entry."""
    signs = list(_KEY.finditer(text)) if len(text) <= _LONGEST_ENTRY else []
    if len(signs) != 1 or text.count(signs[0]["sign"]) != 1:
        return None
    return Token(Kind.START, *signs[0].span())


def _tokens(text: str, find: FindKept, is_spaced: bool) -> list[Token]:
    """The parts of links that are not their texts, and the marks outside them."""
    links = list(_links(text)) if _may_link(text) else []
    within = {at for token in links for at in range(token.start, token.end)}
    marks = _marks(text, find, is_spaced)
    others = (mark for mark in marks if within.isdisjoint(range(mark.start, mark.end)))
    return sorted([*links, *others], key=lambda token: token.start)


def _links(text: str) -> Iterator[Token]:
    for link in itertools.chain(*(one.finditer(text) for one in _LINKS)):
        yield Token(Kind.START, link.start(), link.start("text"), _LINK_NAME)
        yield Token(Kind.END, *link.span("address"), _LINK_NAME)


def _marks(text: str, find: FindKept, is_spaced: bool) -> Iterator[Token]:
    """The marks that may be tags: marks with a named end, such as `<b>`, `[b]` and `{/b}`, and
    pairs of one kind whose first mark touches the word after it and whose second the word before
    it. A mark inside a longer kept string is no tag."""
    marks = list(_MARK.finditer(text))
    ends = {_named(mark) for mark in marks if mark["end"]}
    kept = _kept_marks(text, find) if any(_named(mark) not in ends for mark in marks) else {}
    nums = {"**": 0, "*": 0}
    for mark in marks:
        kind = None
        if (name := _named(mark)) in ends:
            kind = Kind.END if mark["end"] else Kind.START
        elif not kept.get(mark.start(), mark["emphasis"] is not None) or mark["left"] in _NAMED:
            continue
        elif is_spaced:
            kind, name = _touching(mark), mark["left"]
        elif (name := mark["left"]) in nums:
            is_end = nums[name] % 2 == 1
            if name == "**" or _touches_letter(mark, is_end=is_end):
                nums[name] += 1
                kind = Kind.END if is_end else Kind.START
        if kind:
            yield Token(kind, *mark.span(), name, mark["empty"] is not None)


def _kept_marks(text: str, find: FindKept) -> dict[int, bool]:
    """Of each character of a string to keep whether that has nothing but marks."""
    spans = {span: not _MARK.sub("", text[span.start : span.end]) for span in find(text)}
    return {at: is_mark for span, is_mark in spans.items() for at in range(*span)}


def _touches_letter(mark: regex.Match[str], *, is_end: bool) -> bool:
    """Whether what is marked begins with a letter, or ends without a space, and no digit touches
    the mark."""
    start, end = mark.span()
    before, after = mark.string[max(0, start - 1) : start], mark.string[end : end + 1]
    if before.isdigit() or after.isdigit():
        return False
    return before.strip() != "" if is_end else after.isalpha()


def _touching(mark: regex.Match[str]) -> Kind | None:
    """Whether a mark begins or ends something, by the one side where a word touches it."""
    start, end = mark.span()
    before, after = mark.string[max(0, start - 1) : start], mark.string[end : end + 1]
    if (after.isalpha() or (mark["emphasis"] and after.isdigit())) and not before.isalnum():
        return Kind.START
    is_end = before.isalpha() or (mark["emphasis"] and not before.isspace()) or before in ".!?"
    return Kind.END if before and is_end and not after.isalnum() else None


def _named(mark: regex.Match[str]) -> str:
    return f"{mark['left']}{mark['name']}".lower()
