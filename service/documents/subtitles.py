"""SRT and WebVTT: cues are joined into sentences, and translations laid back over the cues.

The libraries for subtitles write files anew; here timings, positions and every untouched cue stay
as they were.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.inline import InlineText, escape_markup, joint
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
from service.translation.language.segmentation import is_spaced
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, Token

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
_TAG = regex.compile(
    r"<(?P<end>/)?(?P<name>[A-Za-z][\w]*+)[^<>\n\r]*+>|<\d[\d:.]*+>|\{\\[^{}\n\r]*+\}"
)
_HEAD = regex.compile(r"(?:\{\\[^{}\n\r]*+\}|<v[ .][^<>\n\r]*+>|\s)*+")
_TAIL = regex.compile(r"\s*+</v>\s*+\Z")
_WRAPPED = regex.compile(r"(<(\w++)[^<>\n\r]*+>)([^<>]*+)(</\2>)")
_LINES = regex.compile(r"(?<!\s)[^\S\n\r]*+[\n\r]\s*+")
_PAUSES = frozenset(".,;:!?。，；：！？、…")
_LINE_WIDTH, _UNSPACED_LINE_WIDTH = 42, 21
_PAUSE_WORTH = 0.25


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
    layout = _Layout(texts, target, is_escaped=is_escaped)

    def write(translation: CodedText) -> str:
        written = layout.write(translation)
        return "".join(itertools.chain(*zip(written, [*between, ""], strict=True)))

    return Place(cues[0].start, cues[-1].end, Segment(layout.text), write)


class _Unit(NamedTuple):
    """One character as written, or a code of no width, and the pairs around it."""

    written: str
    tags: tuple[int, ...]
    is_code: bool = False

    @property
    def is_space(self) -> bool:
        return self.written.isspace()


class _Frame(NamedTuple):
    """What stays around a cue's text, and its length."""

    head: str
    tail: str
    length: int


class _Layout:
    """The text of neighbouring cues as one segment, and the way back to them."""

    def __init__(self, texts: Sequence[str], target: str, *, is_escaped: bool) -> None:
        """`texts`: what each cue shows; `is_escaped`: `&` is written as a reference."""
        self._is_spaced = is_spaced(target)
        self._line_end = next((e for e in ("\r\n", "\n", "\r") if any(e in t for t in texts)), "\n")
        self._width = _LINE_WIDTH if self._is_spaced else _UNSPACED_LINE_WIDTH
        self._inline, self._last = InlineText(), ""
        self._escape: Callable[[str], str] = escape_markup if is_escaped else str
        self._read = self._inline.add_markup if is_escaped else self._inline.add
        self._frames = [self._add(text, is_first=not n) for n, text in enumerate(texts)]

    @property
    def text(self) -> CodedText:
        return self._inline.text

    def write(self, translation: CodedText) -> list[str]:
        """The text of each cue."""
        units = list(self._units(translation))
        position, written = 0, []
        for frame, end in zip(self._frames, self._ends(units), strict=True):
            speeches = _split_at_codes(units[position:end], self._line_end)
            lines = [line for speech in speeches for line in self._lines(_stripped(speech))]
            text = self._line_end.join(self._rendered(line) for line in lines)
            written.append(frame.head + text + frame.tail)
            position = end
        return written

    def _add(self, text: str, *, is_first: bool) -> _Frame:
        found = _HEAD.match(text)
        head = found.group() if found else ""
        body, tail = text[len(head) :], ""
        if ending := _TAIL.search(body):
            body, tail = body[: ending.start()], ending.group()
        if wrapped := _WRAPPED.fullmatch(body):
            head, body, tail = head + wrapped[1], wrapped[3], wrapped[4] + tail
        lines = _LINES.split(body)
        if not is_first:
            self._inline.add(joint(self._last, body))
        self._last = body
        is_talk = any(line.lstrip()[:1] in ("-", "–", "—") for line in lines)
        self._add_body(body if is_talk else functools.reduce(_joined, lines))
        return _Frame(head, tail, max(1, len(_TAG.sub("", body))))

    def _add_body(self, body: str) -> None:
        """Add a cue's text. Its line breaks, if any are left, are between two speakers."""
        tags = list(_TAG.finditer(body))
        partners = pair_tags([_token(tag) for tag in tags], void=frozenset())
        position = 0
        for number, tag in enumerate(tags):
            self._add_text(body[position : tag.start()])
            position = tag.end()
            partner = partners.get(number)
            if partner is None:
                self._inline.single(tag.group())
            elif partner > number:
                self._inline.open(tag.group(), tags[partner].group())
            else:
                self._inline.close()
        self._add_text(body[position:])

    def _add_text(self, text: str) -> None:
        first, *others = _LINES.split(text)
        self._read(first)
        for line in others:
            self._inline.stop(self._line_end)
            self._read(line)

    def _units(self, translation: CodedText) -> Iterator[_Unit]:
        tags: tuple[int, ...] = ()
        filled: set[int] = set()
        for part in translation.parts:
            if isinstance(part, str):
                filled.update(tags if part.strip() else ())
                yield from (_Unit(self._escape(char), tags) for char in part)
            elif part.kind == "open":
                tags = (*tags, part.number)
            elif part.kind == "close":
                if part.number not in filled:
                    yield _Unit("", tags, is_code=True)
                    filled.update(tags)
                tags = tags[:-1]
            else:
                written = self._inline.code(part)
                filled.update(() if written == self._line_end else tags)
                yield _Unit(written, tags, is_code=not part.text)

    def _ends(self, units: Sequence[_Unit]) -> list[int]:
        """Where each cue's text ends, in proportion to the lengths of the source's."""
        total = sum(frame.length for frame in self._frames)
        ends: list[int] = []
        before = 0
        for frame in self._frames[:-1]:
            before += frame.length
            ideal = before / total * len(units)
            least = ends[-1] if ends else 0
            ends.append(self._best_cut(units, ideal, least, frame.length / total * len(units)))
        return [*ends, len(units)]

    def _best_cut(self, units: Sequence[_Unit], ideal: float, least: int, length: float) -> int:
        """The cut next to `ideal`; one after a mark may be a quarter of the cue farther away."""

        def cost(cut: int) -> float:
            before = "".join(unit.written for unit in units[max(0, cut - 2) : cut]).rstrip()
            return abs(cut - ideal) - (_PAUSE_WORTH * length if before[-1:] in _PAUSES else 0)

        return min(self._cuts(units, least), key=cost, default=len(units))

    def _cuts(self, units: Sequence[_Unit], least: int = 0) -> Sequence[int]:
        """Where units may be cut, after `least`."""
        return [cut for cut in range(least + 1, len(units)) if self._may_cut(units, cut)]

    def _may_cut(self, units: Sequence[_Unit], cut: int) -> bool:
        if self._is_spaced:
            return units[cut - 1].is_space or (units[cut].is_space and not units[cut].is_code)
        is_word = all(
            unit.written.isascii() and unit.written.isalnum() for unit in units[cut - 1 : cut + 1]
        )
        return not is_word and units[cut].written not in _PAUSES

    def _lines(self, units: Sequence[_Unit]) -> Iterator[Sequence[_Unit]]:
        """Lines of bounded width, about equally long. A longer word stays whole."""
        while (count := -(-_length(units) // self._width)) > 1:
            ideal = len(units) / count
            cuts = self._cuts(units)
            short = [cut for cut in cuts if _length(_stripped(units[:cut])) <= self._width]
            if not cuts:
                break
            cut = min(short or cuts[:1], key=lambda cut: abs(cut - ideal))
            yield _stripped(units[:cut])
            units = _stripped(units[cut:])
        yield units

    def _rendered(self, units: Sequence[_Unit]) -> str:
        """Units as written; pairs that go on beyond them are closed and begun again."""
        parts: list[str] = []
        spellings = self._inline.spellings
        opened: tuple[int, ...] = ()
        for unit in [*units, _Unit("", ())]:
            pairs = zip(opened, unit.tags, strict=False)
            common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
            parts += [spellings[number].closing for number in reversed(opened[common:])]
            parts += [spellings[number].written for number in unit.tags[common:]]
            parts.append(unit.written)
            opened = unit.tags
        return "".join(parts)


def _joined(text: str, line: str) -> str:
    return text + joint(text, line) + line


def _token(tag: regex.Match[str]) -> Token:
    kind = Kind.END if tag["end"] else Kind.START if tag["name"] else Kind.OTHER
    return Token(kind, *tag.span(), tag["name"] or "")


def _split_at_codes(units: Sequence[_Unit], written: str) -> Iterator[Sequence[_Unit]]:
    """The units before, between and after the codes that are written so."""
    start = 0
    for index, unit in enumerate(units):
        if unit.is_code and unit.written == written:
            yield units[start:index]
            start = index + 1
    yield units[start:]


def _stripped(units: Sequence[_Unit]) -> Sequence[_Unit]:
    start, end = 0, len(units)
    while start < end and units[start].is_space:
        start += 1
    while end > start and units[end - 1].is_space:
        end -= 1
    return units[start:end]


def _length(units: Sequence[_Unit]) -> int:
    return sum(not unit.is_code for unit in units)
