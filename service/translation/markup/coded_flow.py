"""The flows of a text with inline codes."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import regex

from model.text.spans import Span
from service.translation.markup.choices import find_choices, find_in_branch, message_branches
from service.translation.markup.coded_text import Code, CodedText, TextPart, plain_text
from service.translation.markup.flow import MARK, FindKept, Flow, FlowBuilder, Kept
from service.translation.markup.notes import MOST_TAGS, is_marker, is_note
from service.translation.markup.page import has_word
from service.translation.placeholders import find_kept

_SMALL_OR_MARK = regex.compile(r"[\p{Ll}.,:;!?]")
_SPACE = regex.compile(r"([ \t\n\f\r]{2,}+|[\t\n\f\r]|\A )")


def coded_flows(text: CodedText, find: FindKept = find_kept) -> list[Code | Flow]:
    """The flows between the text's stops, and the stops. Linear time."""
    if not any(isinstance(part, str) and "{" in part for part in text.parts):
        return _Flows(text, find).flows()
    return _message_flows(text, find)


def _message_flows(text: CodedText, find: FindKept) -> list[Code | Flow]:
    """Those of a text that may be a message of ICU. Its branches have flows of their own if its
    pairs are each in a branch or outside."""
    read = [*_characters(text.parts)]
    signs = "".join(part if isinstance(part, str) else MARK for part in read)
    choices = [] if MARK in read else find_choices(signs)
    branches = [CodedText.of(read[slice(*span)]) for one in choices for span in one.branches]
    if not all(map(_is_balanced, branches)):
        return _Flows(text, find).flows()
    if branches and (spans := message_branches(signs)):
        flow = FlowBuilder({}, find)
        flow.add_tag(_message(read, Span(0, len(read)), spans, find), 0, None)
        return [flow.build()]
    kept = [Kept.of(_message(read, *choice, find)) for choice in choices]
    parts: list[TextPart] = []
    position = 0
    for (start, end), _ in choices:
        parts += [*read[position:start], MARK]
        position = end
    return _Flows(CodedText.of([*parts, *read[position:]]), find, kept).flows()


def _message(
    read: Sequence[TextPart], span: Span, branches: Sequence[Span], find: FindKept
) -> tuple[TextPart | Flow, ...]:
    """A part of the text, with flows for each branch in it."""
    parts: list[TextPart | Flow] = []
    position = span.start
    for start, end in branches:
        branch = CodedText.of(read[start:end])
        parts += read[position:start]
        parts += coded_flows(branch, functools.partial(find_in_branch, find))
        position = end
    return (*parts, *read[position : span.end])


def _characters(parts: Iterable[TextPart]) -> Iterator[TextPart]:
    for part in parts:
        yield from part if isinstance(part, str) else (part,)


def _is_balanced(text: CodedText) -> bool:
    """Whether each code of a pair has the other one."""
    codes = (part for part in text.parts if isinstance(part, Code))
    numbers = Counter(code.number for code in codes if code.kind in ("open", "close"))
    return all(count == 2 for count in numbers.values())


class _Flows:
    """One text, and how far it is taken apart."""

    def __init__(self, text: CodedText, find: FindKept, choices: Sequence[Kept] = ()) -> None:
        self._parts, self._find = text.parts, find
        self._choices = iter(choices)
        self._partners = _partners(text.parts)
        self._found: list[Code | Flow] = []
        self._flow = FlowBuilder({}, find)

    def flows(self) -> list[Code | Flow]:
        index = 0
        while index < len(self._parts):
            index = self._handle(index)
        self._end_flow()
        return self._found

    def _handle(self, index: int) -> int:
        """Handle one part, or a note with its number -> the index after it."""
        part, flow = self._parts[index], self._flow
        if isinstance(part, str):
            self._add_text(part)
        elif part.kind == "stop" or (part.kind == "single" and self._is_between_texts(index)):
            self._end_flow()
            self._found.append(part)
        elif part.kind == "char":
            flow.add_written(part.text, part)
        elif part.kind == "word" and has_word(part.text):
            flow.add_kept(part, part.text)
        elif part.kind == "open" and (end := self._note_until(index)):
            flow.add_tag(self._parts[index:end], index, None, is_note=True)
            return end
        elif part.kind == "single" and flow.takes_word(self._char_after(index + 1)):
            flow.add_kept(part, "")
        else:
            flow.add_tag((part,), index, self._partners.get(index))
        return index + 1

    def _is_between_texts(self, index: int) -> bool:
        """Whether a code stands between a small letter or a mark and a capital, as a line break or
        a tab does that a CAT tool exports: no word goes on there."""
        is_end = _SMALL_OR_MARK.match(self._flow.end[-1:]) is not None
        return is_end and self._char_after(index + 1).isupper()

    def _char_after(self, index: int) -> str:
        """The first character of the flow's text from this part on; "" at its end."""
        for part in self._parts[index : index + MOST_TAGS]:
            text = part if isinstance(part, str) else part.text
            if text or (isinstance(part, Code) and part.kind == "stop"):
                return text[:1]
        return ""

    def _add_text(self, text: str) -> None:
        """Add text, in which white space reads as one space."""
        for number, string in enumerate(_SPACE.split(text)):
            if number % 2:
                self._flow.add_space(string)
            else:
                self._flow.add(string)

    def _note_until(self, index: int) -> int | None:
        """The index after the pair around a note's number or another marker; None for any other."""
        partner = self._partners.get(index, index)
        if not index < partner <= index + MOST_TAGS:
            return None
        text = plain_text(self._parts[index + 1 : partner])
        before = self._flow.end
        if any(isinstance(c, Code) and c.is_script for c in self._parts[index:partner]):
            return partner + 1 if is_note(text, before) else None
        after = plain_text(self._parts[partner + 1 : partner + 2])
        return partner + 1 if is_marker(text, before, after) else None

    def _end_flow(self) -> None:
        if not self._flow.is_empty:
            self._flow.keep_marks(self._choices)
            self._found.append(self._flow.build())
            self._flow = FlowBuilder({}, self._find)


def _partners(parts: tuple[TextPart, ...]) -> dict[int, int]:
    """The index of each code of a pair -> that of the other one."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for index, part in enumerate(parts):
        if isinstance(part, Code) and part.kind == "open":
            opened.append(index)
        elif isinstance(part, Code) and part.kind == "close":
            start = opened.pop()
            partners[start], partners[index] = index, start
    return partners
