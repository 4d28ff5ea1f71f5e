"""SRT and WebVTT: cues are joined into sentences, and translations laid back over the cues.

The libraries for subtitles write files anew; here timings, positions and every untouched cue stay
as they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.cue_layout import CueLayout
from service.documents.segments import (
    DecodedText,
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    invalid,
)
from service.documents.speeches import SENTENCE_END, begins_speech, is_over, speeches
from service.translation.language.chinese import HAN
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import CodedText

CLOCK = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_LINE_END = r"(?:\r\n|\n|\r|\Z)"
_TIMING = regex.compile(rf"(?<![^\n\r])[ \t]*+{CLOCK}[ \t]*+-->[ \t]*+{CLOCK}[^\n\r]*+{_LINE_END}")
_NUMBER = rf"(?:(?<![^\n\r])[ \t]*+\d++[ \t]*+{_LINE_END}\s*+)?+"
_SRT_ARROW = regex.compile(rf"{_NUMBER}(?<![^\n\r])(?=[ \t]*+\d[\d:.,]*+[ \t]*+-->)")
_VTT_ARROW = regex.compile(rf"{_NUMBER}(?<![^\n\r])(?=[^\n\r]*-->)")
"""Where the line with a cue's times begins, which ends the cue before, after the cue's number."""
_BLOCK = regex.compile(rf"(?<![^\n\r])(?:[^\n\r]++{_LINE_END})++")
_KEPT_BLOCK = regex.compile(r"(?:NOTE|STYLE|REGION)(?=[ \t\n\r]|\Z)")
_LANGUAGE = regex.compile(
    rf"WEBVTT[^\n\r]*+{_LINE_END}(?:(?!Language:)[^\n\r]++{_LINE_END})*+"
    r"Language:[ \t]*+(?P<code>[\w-]++)"
)
_TAG = regex.compile(r"<[^<>]*+>|\{\\[^{}]*+\}")
_STANDS_ALONE = regex.compile(rf"\s*+(?:{_TAG.pattern})*+\s*+[-–—♪\[(（【［]")
_TITLE = regex.compile(r"\P{L}*+(?:\p{Lu}\P{L}*+){4,}+")
_MOST_SECONDS_APART = 2.0
_LEAST_MARKED = 0.2
_MOST_CUES = 6
MOST_CHARACTERS = 2000


class Cue(NamedTuple):
    """A cue's times in seconds, where its text stands, without the last line end, and the text as
    its layout reads it. A sentence runs only through cues of one `voice`."""

    begins: float
    ends: float
    start: int
    end: int
    text: str
    voice: str = ""


def parse_srt(content: bytes, options: FileOptions) -> TextFile:
    """SubRip. A cue goes on to the next one's number or times. Raises InvalidDocument without any
    timing."""
    decoded = decode(content, options.source)
    cues = list(_cues(decoded.text, 0, len(decoded.text), _SRT_ARROW))
    if not cues and "-->" not in decoded.text and decoded.text.strip():
        raise invalid("SRT", "it has no timing such as 00:00:01,000 --> 00:00:02,000")
    return subtitle_file(decoded, cues, options.target)


def parse_vtt(content: bytes, options: FileOptions) -> TextFile:
    """WebVTT. A blank line ends a cue. Notes, styles and regions stay."""
    decoded = decode(content, options.source)
    text = decoded.text
    if not text.startswith("WEBVTT"):
        raise invalid("WebVTT", "it does not begin with WEBVTT")
    blocks = (match.span() for match in _BLOCK.finditer(text))
    read = (span for span in blocks if not _KEPT_BLOCK.match(text, span[0]))
    cues = [cue for span in read for cue in _cues(text, *span, _VTT_ARROW)]
    file = subtitle_file(decoded, cues, options.target, is_escaped=True)
    language = _LANGUAGE.match(text)
    return file.with_edits([Edit(*language.span("code"), options.target)] if language else [])


def subtitle_file(
    decoded: DecodedText,
    cues: Sequence[Cue],
    target: str,
    *,
    is_escaped: bool = False,
    keeps_lines: bool = False,
    write: Callable[[str], str] = str,
) -> TextFile:
    """`is_escaped`: `&` is written as a reference; `keeps_lines`: a cue has as many lines as
    before; `write`: spells what the layout of a cue writes."""
    places = []
    for group in _sentences(cues):
        texts = [cue.text for cue in group]
        layout = CueLayout(texts, target, is_escaped=is_escaped, keeps_lines=keeps_lines)
        places.append(_place(decoded.text, group, layout, write))
    return TextFile(decoded, places)


def _cues(source: str, start: int, end: int, arrow: regex.Pattern[str]) -> Iterator[Cue]:
    """Cues of source[start:end] with letters, unless they are too long to be subtitles."""
    arrows = [match.span() for match in arrow.finditer(source, start, end)]
    for (_, line), (following, _) in itertools.pairwise([*arrows, (end, end)]):
        timing = _TIMING.match(source, line, end)
        text = source[timing.end() : following] if timing else ""
        if timing and has_letters(text) and len(text) <= MOST_CHARACTERS:
            begins, ends = seconds(timing.groups()[:4]), seconds(timing.groups()[4:])
            shown = text.rstrip()
            yield Cue(begins, ends, timing.end(), timing.end() + len(shown), shown)


def seconds(clock: Sequence[str | None]) -> float:
    """The time that `CLOCK` matches."""
    hours, minutes, seconds, fraction = clock
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def _sentences(cues: Sequence[Cue]) -> Iterator[Sequence[Cue]]:
    """Neighbouring cues that one sentence runs through."""
    first, is_marked = 0, _is_marked(cues)
    for number in range(1, len(cues) + 1):
        if number == len(cues) or not is_marked or not _goes_on(cues[first:number], cues[number]):
            yield cues[first:number]
            first = number


def _is_marked(cues: Sequence[Cue]) -> bool:
    """Whether the ends of sentences have marks: those of Chinese subtitles mostly have none, and a
    cue is a sentence."""
    num_han = sum(HAN.search(cue.text) is not None for cue in cues)
    num_ends = sum(SENTENCE_END.search(cue.text) is not None for cue in cues)
    return num_han < len(cues) / 2 or num_ends >= _LEAST_MARKED * len(cues)


def _goes_on(group: Sequence[Cue], cue: Cue) -> bool:
    last = group[-1]
    text, following = last.text, cue.text
    is_near = 0 <= cue.begins - last.ends <= _MOST_SECONDS_APART
    return (
        is_near
        and not _is_change(_TAG.sub("", text).strip(), _TAG.sub("", following).strip())
        and cue.voice == last.voice
        and len(group) < _MOST_CUES
        and not is_over(text, following)
        and not _STANDS_ALONE.match(text)
        and not begins_speech(following)
        and all(len(list(speeches(one))) == 1 for one in (text, following))
    )


def _is_change(text: str, following: str) -> bool:
    """Whether a title in capitals begins or ends, or the following text begins with the last line,
    as captions do that roll."""
    last, first = text.splitlines()[-1:], following.splitlines()[:1]
    return bool(_TITLE.fullmatch(text)) != bool(_TITLE.fullmatch(following)) or last == first


def _place(
    source: str, cues: Sequence[Cue], layout: CueLayout, spell: Callable[[str], str]
) -> Place:
    between = [source[a.end : b.start] for a, b in itertools.pairwise(cues)]

    def write(translation: CodedText) -> str:
        written = map(spell, layout.write(translation))
        return "".join(itertools.chain(*zip(written, [*between, ""], strict=True)))

    return Place(cues[0].start, cues[-1].end, Segment(layout.text), write)
