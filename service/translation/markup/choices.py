"""ICU messages: where their plurals and choices stand, and the texts of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.translation.markup.flow import MARK, FindKept

_CHOICE = regex.compile(r"\{\s*+\w++\s*+,\s*+(?:plural|select(?:ordinal)?|(?P<java>choice))\s*+,")
_NO_WORDS = regex.compile(r"(?:[^\p{L}{}]++|\{\s*+\w++\s*+(?:,\s*+\w++\s*+)?\})*+")
"""What may stand beside choices: signs and placeholders."""
_BRACE, _NUMBER, _BRANCH_DEPTH = regex.compile(r"[{}]"), regex.compile("#"), 2
_MOST_DEPTH = 32
_LIMIT = regex.compile(r"(?P<brace>[{}])|(?:(?<=,)|\|)\s*+-?(?:\d++(?:\.\d++)?|∞)\s*+[#<≤]")
"""What begins a text in a choice of Java, as in `{0,choice,0#none|1#one|1<{0} of them}`."""


class Choice(NamedTuple):
    """Where a plural or choice stands, and the texts in it."""

    span: Span
    branches: Sequence[Span]


def find_choices(text: str) -> Sequence[Choice]:
    """The outermost plurals and choices of a message, in order. A text with quoted braces, or with
    a choice that does not end, has none."""
    found: list[Choice] = []
    position = len(text) if "'{" in text else 0
    while match := _CHOICE.search(text, position):
        is_java = match["java"] is not None
        branches, position = (_java_branches if is_java else _branches)(text, match.start())
        if not position:
            return []
        found.append(Choice(Span(match.start(), position), branches))
    return found


def message_branches(text: str) -> list[Span]:
    """The texts of an ICU message, if it is a plural or choice, or several of them without words
    between."""
    choices = find_choices(text)
    if not choices or not _NO_WORDS.fullmatch(with_marks(text, choices)):
        return []
    return [branch for choice in choices for branch in choice.branches]


def with_marks(text: str, choices: Sequence[Choice]) -> str:
    """The text with a mark in place of each choice."""
    parts, position = [], 0
    for (start, end), _ in choices:
        parts += [text[position:start], MARK]
        position = end
    return "".join([*parts, text[position:]])


def _branches(text: str, start: int) -> tuple[list[Span], int]:
    """Those of the choice that begins at `start`, and where it ends, 0 if it does not, or has more
    choices in each other than any message."""
    depth = begin = 0
    found = []
    for match in _BRACE.finditer(text, start):
        depth += 1 if match.group() == "{" else -1
        if depth > _MOST_DEPTH:
            break
        if match.group() == "{" and depth == _BRANCH_DEPTH:
            begin = match.end()
        elif match.group() == "}" and depth == _BRANCH_DEPTH - 1:
            found.append(Span(begin, match.start()))
        if depth == 0:
            return found, match.end()
    return [], 0


def _java_branches(text: str, start: int) -> tuple[list[Span], int]:
    """Those of a choice of Java, and where it ends; 0 if it does not."""
    depth, limits = 0, []
    for match in _LIMIT.finditer(text, start):
        if not match["brace"] and depth == 1:
            limits.append(match)
        depth += {"{": 1, "}": -1}.get(match["brace"], 0)
        if depth == 0:
            ends = [*(limit.start() for limit in limits[1:]), match.start()]
            begins = (limit.end() for limit in limits)
            return [*map(Span, begins, ends)] if limits else [], match.end()
    return [], 0


def find_in_branch(find: FindKept, text: str) -> Sequence[Span]:
    """What stays in a branch: also the sign for the number."""
    others = (
        span for span in find(text) if not _NUMBER.fullmatch(text, span.start, span.start + 1)
    )
    return sorted([*others, *(Span(*match.span()) for match in _NUMBER.finditer(text))])
