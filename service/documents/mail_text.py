"""Plain text of e-mail: paragraphs whose lines programs have broken, after marks of quotes.

A quoted paragraph keeps its marks, and one that was broken is broken again. What lines with spaces
at their ends mean in `format=flowed` is said by RFC 3676.
"""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.inline import joint
from service.documents.segments import Place, Segment
from service.translation.language.segmentation import has_letters

_LINE = regex.compile(r"(?P<mark>(?:\x20?>)*+[ \t]*+)(?P<text>[^\r\n]*+)(?P<end>\r?\n|\r|\Z)")
_BEGINNING = regex.compile(r"(?:[-*•–+#]|\(?[\p{L}\d]{1,3}[.)])\s|\p{L}[\p{L}-]*+:(?:\s|$)")
"""Items of lists, and fields of a message that is quoted."""
_ADDRESSES = regex.compile(
    r"\p{L}[\p{L}-]*+(?: \p{L}++)?+[:：](?=(?:[^<>]{0,60}<[^<>\s@]++@[^<>\s]++>[\s,;]*+)++$)"
)
"""The name of a field with the names and addresses of persons, which stay."""
_COLUMNS = regex.compile(r"\S(?:\t|\x20{3})")
_SIGNATURE, _FENCE = "-- ", "```"
_NARROWEST, _WIDEST = 60, 90
"""Lines that programs break are at least and at most so long."""
_CODE = regex.compile(r"-----(?:BEGIN|END)\s|[!-~]{40,}+\s*+\Z")
"""A long address, or a line of a key."""


class Flowed(NamedTuple):
    """`format=flowed`: a space at the end of a line joins it with the next one, and is part of the
    text unless `DelSp=yes`."""

    deletes_space: bool


class _Line(NamedTuple):
    """`start`: of the text, which is after the mark."""

    start: int
    mark: str
    text: str
    line_end: str
    is_code: bool

    @property
    def depth(self) -> int:
        return self.mark.count(">")

    @property
    def width(self) -> int:
        return len(self.mark) + len(self.text.rstrip())

    @property
    def is_spaced(self) -> bool:
        return " " in self.text.strip()


def mail_places(text: str, flow: Flowed | None) -> Iterator[Place]:
    """The paragraphs of a message."""
    blocks = itertools.groupby(
        _lines(text, flow), key=lambda line: (line.depth, line.is_code or not line.text.strip())
    )
    for (_, is_kept), block in blocks:
        for paragraph in _paragraphs(list(block), flow) if not is_kept else ():
            joined, start, last = _joined(paragraph, flow), paragraph[0].start, paragraph[-1]
            end = last.start + len(last.text.rstrip())
            if field := _ADDRESSES.match(joined):
                joined = "" if "-" in field.group() else field.group()
                end = start + field.end()
            if has_letters(joined):
                write = functools.partial(_written, paragraph, flow)
                yield Place(start, end, Segment(joined), write)


def _lines(text: str, flow: Flowed | None) -> Iterator[_Line]:
    """Code are lines between fences, patches, and addresses and keys on lines of their own."""
    has_fences = text.count(_FENCE) % 2 == 0
    is_fenced = is_patch = is_soft = False
    for line in _LINE.finditer(text):
        content = line["text"]
        num_fences = content.count(_FENCE) if has_fences else 0
        is_patch = (is_patch or content.startswith("diff --git ")) and content != _SIGNATURE
        is_alone = not is_soft and not (flow and content.endswith(" "))
        is_code = is_fenced or num_fences > 0 or is_patch
        is_code = is_code or (is_alone and _CODE.match(content) is not None)
        yield _Line(line.start("text"), line["mark"], content, line["end"], is_code)
        is_fenced = is_fenced != (num_fences % 2 == 1)
        is_soft = flow is not None and content.endswith(" ")


def _paragraphs(block: Sequence[_Line], flow: Flowed | None) -> Iterator[Sequence[_Line]]:
    """The paragraphs in lines of one depth that no blank line divides."""
    width = max([_NARROWEST, *(line.width for line in block if line.is_spaced)])
    first = 0
    for number, (last, line) in enumerate(itertools.pairwise(block), 1):
        if flow:
            goes_on = last.text.endswith(" ") and last.text != _SIGNATURE
        else:
            goes_on = width <= _WIDEST and _is_broken(last, line, width)
        if not goes_on:
            yield block[first:number]
            first = number
    yield block[first:]


def _is_broken(last: _Line, line: _Line, width: int) -> bool:
    """Whether a program has begun the second line, as its first word did not fit on the first."""
    word = line.text.partition(" ")[0]
    is_full = last.width + 1 + len(word) > width
    is_apart = _BEGINNING.match(line.text) or joint(last.text, line.text) != " "
    is_table = _COLUMNS.search(last.text) or _COLUMNS.search(line.text)
    return is_full and not is_apart and not is_table


def _joined(paragraph: Sequence[_Line], flow: Flowed | None) -> str:
    parts = []
    for last, line in itertools.pairwise(paragraph):
        text = last.text.rstrip()
        is_exact = flow is not None and flow.deletes_space
        parts += [last.text[:-1]] if is_exact else [text, joint(text, line.text)]
    return "".join([*parts, paragraph[-1].text.rstrip()])


def _written(paragraph: Sequence[_Line], flow: Flowed | None, text: str) -> str:
    """The translation, in lines as long as the paragraph's if that has several."""
    first, *others = paragraph
    if not others:
        return text
    width = max(line.width for line in paragraph)
    mark = others[0].mark
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first.mark,
        subsequent_indent=mark,
        break_long_words=False,
        break_on_hyphens=False,
    )
    end = first.line_end
    if flow:
        end = (" " * (2 if flow.deletes_space else 1)) + end
    return end.join(lines)[len(first.mark) :]
