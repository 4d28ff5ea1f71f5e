"""The captions and descriptions of what chunks of code show, in Quarto and R Markdown."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import regex

from model.text.spans import Span
from service.documents.front_matter import yaml_places
from service.documents.segments import Place, Segment, is_worded

_OPTION = regex.compile(r"[ \t]*+(?:#|//|--|%)\|[ \t]")
_SHOWN = regex.compile(r"(?:fig|tbl|lst)-(?:sub)?cap|fig-alt|title|code-summary")
_CAPTION = regex.compile(
    r"(?<=[\s,]fig\.(?:cap|alt)\s*=\s*)(?P<quote>[\"'])(?!\(ref:)(?P<text>[^\"'\\`\n]++)(?P=quote)"
)
_OTHER_QUOTE = {'"': "'", "'": "\u2019"}


def option_places(source: str, lines: Sequence[Span]) -> Iterator[Place]:
    """Those of a chunk, of whose `lines` the first one begins it."""
    for caption in _CAPTION.finditer(source, *lines[0]):
        if is_worded(caption["text"]):
            write = functools.partial(_quoted, caption["quote"])
            yield Place(*caption.span("text"), Segment(caption["text"]), write)
    found = (_OPTION.match(source, *line) for line in lines[1:])
    options = [
        Span(option.end(), line.end)
        for option, line in zip(itertools.takewhile(bool, found), lines[1:], strict=False)
        if option
    ]
    if options:
        yield from _yaml_places(source, options)


def _quoted(quote: str, text: str) -> str:
    return text.replace("\\", "").replace(quote, _OTHER_QUOTE[quote])


def _yaml_places(source: str, lines: Sequence[Span]) -> Iterator[Place]:
    """Places in lines of YAML, each of them after a mark of a comment."""
    sizes = (line.end - line.start + 1 for line in lines)
    starts = [0, *itertools.accumulate(sizes)]
    between = source[lines[0].end : lines[1].start] if len(lines) > 1 else "\n"

    def offset(at: int) -> int:
        line = bisect.bisect_right(starts, at) - 1
        return lines[line].start + at - starts[line]

    text = "\n".join(source[line.start : line.end] for line in lines)
    for place in yaml_places(text, _SHOWN):
        write = functools.partial(_in_comments, place.write, between)
        yield place._replace(start=offset(place.start), end=offset(place.end), write=write)


def _in_comments(write: Callable[[Any], str], between: str, translation: str) -> str:
    return write(translation).replace("\n", between)
