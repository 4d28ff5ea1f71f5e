"""SRT and WebVTT: cues are joined into sentences, and translations laid back over the cues.

The libraries for subtitles write files anew; here timings, positions and every untouched cue stay
as they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.translation.documents.cue_layout import CueLayout
from service.translation.documents.segments import (
    DecodedText,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    has_letters,
    invalid,
)

_CLOCK = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = regex.compile(rf"[ \t]*+{_CLOCK}[ \t]*+-->[ \t]*+{_CLOCK}[^\n\r]*+")
_LINE = regex.compile(r"[^\n\r]*+(?:\r\n|\n|\r|\Z)")
_KEPT_BLOCK = regex.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t]|$)")
_SENTENCE_END = regex.compile(r"[.!?。！？…♪][\"'”’»)\]」』]*+(?:</?[\w.]+[^<>]*+>|\s)*+$")
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
    return _file(decode(content), options, "SRT")


def parse_vtt(content: bytes, options: FileOptions) -> TextFile:
    """WebVTT. Notes, styles and regions stay."""
    decoded = decode(content)
    if not decoded.text.startswith("WEBVTT"):
        raise invalid("WebVTT", "it does not begin with WEBVTT")
    return _file(decoded, options, "WebVTT")


def _file(decoded: DecodedText, options: FileOptions, kind: str) -> TextFile:
    source = decoded.text
    cues = list(_cues(source))
    if not cues and "-->" not in source and kind == "SRT" and source.strip():
        raise invalid(kind, "it has no timing such as 00:00:01,000 --> 00:00:02,000")
    places = [
        _place(source, group, options.target, is_escaped=kind == "WebVTT")
        for group in _sentences(source, cues)
    ]
    return TextFile(decoded, places)


def _cues(source: str) -> Iterator[_Cue]:
    """Cues with letters, unless they are too long to be subtitles. A blank line ends a cue."""
    position = 0
    while position < len(source):
        line = _LINE.match(source, position)
        assert line is not None
        position = max(line.end(), position + 1)
        timing = _TIMING.match(source, line.start(), line.end())
        if timing is None:
            if _KEPT_BLOCK.match(line.group()):
                position = _block_end(source, position)
            continue
        start, position = line.end(), _block_end(source, line.end())
        text = source[start:position]
        if has_letters(text) and len(text) <= _MOST_CHARACTERS:
            begins, ends = _seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])
            yield _Cue(begins, ends, start, start + len(text.rstrip()))


def _block_end(source: str, position: int) -> int:
    """The start of the next blank line, or the end of the source."""
    while position < len(source):
        line = _LINE.match(source, position)
        assert line is not None
        if not line.group().strip() or line.end() == position:
            break
        position = line.end()
    return position


def _seconds(clock: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = clock
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def _sentences(source: str, cues: Sequence[_Cue]) -> Iterator[list[_Cue]]:
    """Neighbouring cues that one sentence runs through."""
    group: list[_Cue] = []
    for cue in cues:
        if group and not _goes_on(source, group, cue):
            yield group
            group = []
        group.append(cue)
    if group:
        yield group


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

    def write(translation: str) -> str:
        written = layout.write(translation)
        return "".join(part for pair in zip(written, [*between, ""], strict=True) for part in pair)

    return Place(cues[0].start, cues[-1].end, Segment(layout.text, "html"), write)
