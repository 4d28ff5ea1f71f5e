"""The flow of a plain text: tags in it, such as `<b>...</b>` and `{b}...{/b}`, and branches of ICU
messages."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import regex

from model.text.spans import Span
from service.translation.markup.elements import pair_tags
from service.translation.markup.flow import FindKept, Flow, FlowBuilder
from service.translation.markup.scanner import Kind, Token
from service.translation.placeholders import find_kept

_LINE_BREAK = regex.compile(r"(?<=\S)[ \u3000]*+(?:\r\n|\n|\r)[ \u3000]*+(?=\S)")
_CHOICE = regex.compile(r"\s*+\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal)\s*+,")
_BRACE, _NUMBER, _BRANCH_DEPTH = regex.compile(r"[{}]"), regex.compile("#"), 2
_MARK = regex.compile(
    r"""(?<!⟦)(?P<left><)(?P<end>/)?(?P<name>[A-Za-z\d][\w:.-]*+)(?:\s[^<>\n]*+)?(?P<empty>/)?>
    |(?P<left>\{\{?|\[)(?P<end>/)?(?P<name>[\w.$@-]{1,40}+)(?:=[^\[\]{}\n]{1,80})?(?:\}\}?|\])
    |(?P<left>%)(?:\d\$)?[sd@]
    |(?P<left>(?P<emphasis>\*{1,3}+|(?<!_)_(?!_)|~{1,2}+))""",
    regex.X,
)
"""A mark that may be a tag. Reserved pieces such as ⟦<1>⟧ contain none."""


def text_flow(
    text: str, find: FindKept = find_kept, joins_lines: bool = False, is_spaced: bool = True
) -> Flow:
    """The flow of a plain text. Other tags than pairs around something stay in the text, where
    they are kept strings. If it `joins_lines`, a single line break is read as a space, or as
    nothing unless the language `is_spaced`."""
    builder = FlowBuilder({}, find)
    if branches := message_branches(text):
        parts: list[str | Flow] = []
        position = 0
        for start, end in branches:
            branch = text_flow(text[start:end], functools.partial(find_in_branch, find))
            parts += [text[position:start], branch]
            position = end
        builder.add_tag((*parts, text[position:]), 0, None)
        return builder.build()
    add = functools.partial(_add_joined, builder, is_spaced) if joins_lines else builder.add
    position = 0
    for number, (token, partner) in enumerate(_pairs(text, find, is_spaced)):
        add(text[position : token.start])
        builder.add_tag((text[token.start : token.end],), number, partner)
        position = token.end
    add(text[position:])
    return builder.build()


def has_marks(text: str) -> bool:
    """Whether there may be tags or branches in the text."""
    return "{" in text or _MARK.search(text) is not None


def message_branches(text: str) -> list[Span]:
    """Where the texts of an ICU message stand, if it is one plural or choice."""
    if not _CHOICE.match(text) or "'{" in text:
        return []
    depth = begin = 0
    found = []
    for match in _BRACE.finditer(text):
        depth += 1 if match.group() == "{" else -1
        if match.group() == "{" and depth == _BRANCH_DEPTH:
            begin = match.end()
        elif match.group() == "}" and depth == _BRANCH_DEPTH - 1:
            found.append(Span(begin, match.start()))
        if depth == 0:
            return [] if text[match.end() :].strip() else found
    return []


def find_in_branch(find: FindKept, text: str) -> Sequence[Span]:
    """What stays in a branch: also the sign for the number."""
    return sorted([*find(text), *(Span(*match.span()) for match in _NUMBER.finditer(text))])


def _add_joined(builder: FlowBuilder, is_spaced: bool, text: str) -> None:
    """Add text with its single line breaks read as spaces, or not at all."""
    position = 0
    for match in _LINE_BREAK.finditer(text):
        builder.add(text[position : match.start()])
        beside = text[match.start() - 1], text[match.end()]
        if is_spaced or any(char.isascii() for char in beside):
            builder.add_written(" ", match.group())
        else:
            builder.add_unread(match.group())
        position = match.end()
    builder.add(text[position:])


def _pairs(text: str, find: FindKept, is_spaced: bool) -> Iterator[tuple[Token, int]]:
    """The paired tags with the number of each one's partner."""
    tokens = list(_tokens(text, find, is_spaced))
    partners = {
        index: partner
        for index, partner in pair_tags(tokens).items()
        if tokens[min(index, partner)].end < tokens[max(index, partner)].start
    }
    numbers = {index: number for number, index in enumerate(sorted(partners))}
    for index in sorted(partners):
        yield tokens[index], numbers[partners[index]]


def _tokens(text: str, find: FindKept, is_spaced: bool) -> Iterator[Token]:
    """The marks that may be tags: marks with a named end, such as `<b>`, `[b]` and `{/b}`, and
    pairs of one kind whose first mark touches the word after it and whose second the word before
    it. A mark inside a longer kept string is no tag."""
    marks = list(_MARK.finditer(text))
    ends = {_named(mark) for mark in marks if mark["end"]}
    kept = _kept_marks(text, find) if any(_named(mark) not in ends for mark in marks) else {}
    num_emphases = 0
    for mark in marks:
        kind = None
        if (name := _named(mark)) in ends:
            kind = Kind.END if mark["end"] else Kind.START
        elif not kept.get(mark.start(), mark["emphasis"] is not None) or mark["left"] in "<[":
            continue
        elif is_spaced:
            kind, name = _touching(mark), mark["left"]
        elif mark["left"] == "**":
            num_emphases += 1
            kind, name = (Kind.END, Kind.START)[num_emphases % 2], mark["left"]
        if kind:
            yield Token(kind, *mark.span(), name, mark["empty"] is not None)


def _kept_marks(text: str, find: FindKept) -> dict[int, bool]:
    """Of each character of a string to keep whether that has nothing but marks."""
    spans = {span: not _MARK.sub("", text[span.start : span.end]) for span in find(text)}
    return {at: is_mark for span, is_mark in spans.items() for at in range(*span)}


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
