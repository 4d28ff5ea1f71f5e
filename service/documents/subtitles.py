"""SRT and WebVTT: cues are joined into sentences, and translations laid back over the cues.

The libraries for subtitles write files anew; here timings, positions and every untouched cue stay
as they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.cue_layout import CueLayout
from service.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    has_letters,
    invalid,
)
from service.translation.markup.coded_text import CodedText

_CLOCK = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_LINE_END = r"(?:\r\n|\n|\r|\Z)"
_TIMING = regex.compile(
    rf"(?<![^\n\r])[ \t]*+{_CLOCK}[ \t]*+-->[ \t]*+{_CLOCK}[^\n\r]*+{_LINE_END}"
)
_BLOCK = regex.compile(rf"(?:[^\S\n\r]*+\S[^\n\r]*+{_LINE_END})++")
_KEPT_BLOCK = regex.compile(r"(?:NOTE|STYLE|REGION)(?=[ \t\n\r]|\Z)")
_SENTENCE_END = regex.compile(r"[.!?。！？…♪][\"'”’»)\]」』]*+(?:</?[\w.]++[^<>]*+>|\s)*+$")
_BEGINS_ALONE = regex.compile(r"\s*+(?:<[^<>]*+>|\{\\[^{}]*+\})*+\s*+[-–—♪\[(]")
_MOST_SECONDS_APART = 2.0
_MOST_CUES = 6
_MOST_CHARACTERS = 2000


class _Cue(NamedTuple):
    """A cue's times in seconds, and where its text stands, without the last line end."""

    begins: float
    ends: float
    start: int
    end: int


def parse_srt(content: bytes, options: FileOptions) -> TextFile:
    """SubRip. Raises InvalidDocument without any timing."""
    decoded = decode(content)
    cues = list(_cues(decoded.text))
    if not cues and "-->" not in decoded.text and decoded.text.strip():
        raise invalid("SRT", "it has no timing such as 00:00:01,000 --> 00:00:02,000")
    return _file(decoded, cues, options.target, is_escaped=False)


def parse_vtt(content: bytes, options: FileOptions) -> TextFile:
    """WebVTT. Notes, styles and regions stay."""
    decoded = decode(content)
    if not decoded.text.startswith("WEBVTT"):
        raise invalid("WebVTT", "it does not begin with WEBVTT")
    return _file(decoded, list(_cues(decoded.text)), options.target, is_escaped=True)


def _file(decoded: DecodedText, cues: Sequence[_Cue], target: str, *, is_escaped: bool) -> TextFile:
    groups = _sentences(decoded.text, cues)
    places = [_place(decoded.text, group, target, is_escaped=is_escaped) for group in groups]
    return TextFile(decoded, places)


def _cues(source: str) -> Iterator[_Cue]:
    """Cues with letters, unless they are too long to be subtitles. A blank line ends a cue."""
    for block in _BLOCK.finditer(source):
        timing = _TIMING.search(source, *block.span())
        if timing is None or _KEPT_BLOCK.match(source, block.start()):
            continue
        text = source[timing.end() : block.end()]
        if has_letters(text) and len(text) <= _MOST_CHARACTERS:
            begins, ends = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])
            yield _Cue(begins, ends, timing.end(), timing.end() + len(text.rstrip()))


def _seconds(clock: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = clock
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def _sentences(source: str, cues: Sequence[_Cue]) -> Iterator[Sequence[_Cue]]:
    """Neighbouring cues that one sentence runs through."""
    first = 0
    for number in range(1, len(cues) + 1):
        if number == len(cues) or not _goes_on(source, cues[first:number], cues[number]):
            yield cues[first:number]
            first = number


def _goes_on(source: str, group: Sequence[_Cue], cue: _Cue) -> bool:
    last = group[-1]
    text, following = source[last.start : last.end], source[cue.start : cue.end]
    is_near = 0 <= cue.begins - last.ends <= _MOST_SECONDS_APART
    return (
        is_near
        and len(group) < _MOST_CUES
        and not _SENTENCE_END.search(text)
        and not any(map(_BEGINS_ALONE.match, (*text.splitlines(), *following.splitlines())))
    )


def _place(source: str, cues: Sequence[_Cue], target: str, *, is_escaped: bool) -> Place:
    texts = [source[cue.start : cue.end] for cue in cues]
    between = [source[a.end : b.start] for a, b in itertools.pairwise(cues)]
    layout = CueLayout(texts, target, is_escaped=is_escaped)

    def write(translation: CodedText) -> str:
        written = layout.write(translation)
        return "".join(itertools.chain(*zip(written, [*between, ""], strict=True)))

    return Place(cues[0].start, cues[-1].end, Segment(layout.text), write)
