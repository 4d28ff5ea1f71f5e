"""The text of neighbouring cues of subtitles as one segment, and translations laid back over them.

A cue's share of a translation is in proportion to the length of its text, cut at a mark if one is
near. Lines have a bounded width.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.inline import InlineText, escape_markup, joint
from service.documents.speeches import Speech, speeches
from service.translation.language.segmentation import is_spaced
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, Token

_TAG = regex.compile(
    r"<rt>[^<>]*+</rt>|<(?P<end>/)?(?P<name>[A-Za-z][\w]*+)[^<>\n\r]*+>|<\d[\d:.]*+>"
    r"|\{\\[^{}\n\r]*+\}"
)
"""Also a word above another one, and a time within a cue."""
_TIME = regex.compile(r"<\d")
_NUMBER, _CLOCK_NUMBERS = regex.compile(r"\d++"), 4
_UNIT = regex.compile(rf"{_TAG.pattern}|[\s\S]")
_HEAD = regex.compile(r"(?:\{\\[^{}\n\r]*+\}|<v[ .][^<>\n\r]*+>|\s)*+")
_TAIL = regex.compile(r"\s*+</v>\s*+\Z")
_WRAPPED = regex.compile(r"(<(\w++)[^<>\n\r]*+>)([^<>]*+)(</\2>)")
_PAUSES = frozenset(".,;:!?。，；：！？、…")
_LINE_WIDTH, _UNSPACED_LINE_WIDTH = 42, 21
_PAUSE_WORTH = 0.25


class _Unit(NamedTuple):
    """One character as written, or a code of no width, and the pairs around it."""

    written: str
    tags: tuple[int, ...]
    is_code: bool = False

    @property
    def is_space(self) -> bool:
        return self.written.isspace()


class _Frame(NamedTuple):
    """What stays around a cue's text, the name before its first speech, the lines of each speech,
    and the length of all."""

    head: str
    name: str
    tail: str
    nums_lines: Sequence[int]
    length: int


class CueLayout:
    """The text of neighbouring cues as one segment, and the way back to them."""

    def __init__(
        self, texts: Sequence[str], target: str, *, is_escaped: bool, keeps_lines: bool = False
    ) -> None:
        """`texts`: what each cue shows; `is_escaped`: `&` is written as a reference; `keeps_lines`:
        there are as many lines as before, however long."""
        self._is_spaced = is_spaced(target)
        self._line_end = next((e for e in ("\r\n", "\n", "\r") if any(e in t for t in texts)), "\n")
        self._width = _LINE_WIDTH if self._is_spaced else _UNSPACED_LINE_WIDTH
        self._keeps_lines = keeps_lines
        self._inline, self._last = InlineText(), ""
        self._escape: Callable[[str], str] = escape_markup if is_escaped else str
        self._read = self._inline.add_markup if is_escaped else self._inline.add
        self._frames = [self._add(text, is_first=not n) for n, text in enumerate(texts)]

    @property
    def text(self) -> CodedText:
        return self._inline.text

    def write(self, translation: CodedText) -> list[str]:
        """The text of each cue."""
        units = _in_time(list(self._units(translation)))
        position, written = 0, []
        for frame, end in zip(self._frames, self._ends(units), strict=True):
            shown = [*_units_of(frame.name), *units[position:end]]
            parts = _split_at_codes(shown, self._line_end)
            nums_lines = itertools.chain(frame.nums_lines, itertools.repeat(1))
            lines = [
                line
                for part, num_lines in zip(parts, nums_lines, strict=False)
                for line in self._lines(_stripped(part), num_lines)
            ]
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
        if not is_first:
            self._inline.add(joint(self._last, body))
        self._last = body
        parts = list(speeches(body, self._line_end, keeps_lines=self._keeps_lines))
        self._add_speeches(parts)
        nums_lines = [speech.num_lines for speech in parts]
        length = max(1, len(_TAG.sub("", body)))
        return _Frame(head, parts[0].before, tail, nums_lines, length)

    def _add_speeches(self, parts: Sequence[Speech]) -> None:
        """Add a cue's text, with stops between its speeches."""
        tags = [tag for speech in parts for tag in _TAG.finditer(speech.text)]
        partners = pair_tags([_token(tag) for tag in tags], void=frozenset())
        number = 0
        for index, speech in enumerate(parts):
            if index:
                self._inline.stop(speech.before)
            position = 0
            for tag in _TAG.finditer(speech.text):
                self._read(speech.text[position : tag.start()])
                self._add_tag(tags, number, partners.get(number))
                position, number = tag.end(), number + 1
            self._read(speech.text[position:])

    def _add_tag(self, tags: Sequence[regex.Match[str]], number: int, partner: int | None) -> None:
        if partner is None:
            self._inline.single(tags[number].group())
        elif partner > number:
            self._inline.open(tags[number].group(), tags[partner].group())
        else:
            self._inline.close()

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
                filled.update(() if part.kind == "stop" else tags)
                yield _Unit(written, tags, is_code=not part.text)

    def _ends(self, units: Sequence[_Unit]) -> list[int]:
        """Where each cue's text ends, in proportion to the lengths of the source's. While there are
        words for all, each cue gets one."""
        per_length = len(units) / sum(frame.length for frame in self._frames)
        cuts = [cut for cut in self._cuts(units) if not units[cut].is_space]
        ends: list[int] = []
        before = 0
        for later, frame in zip(range(len(self._frames))[:0:-1], self._frames, strict=False):
            before += frame.length
            cuts = [cut for cut in cuts if not ends or cut > ends[-1]]
            usable = cuts[: max(1, len(cuts) + 1 - later)] or [len(units)]
            best = self._best_cut(units, usable, before * per_length, frame.length * per_length)
            ends.append(best)
        return [*ends, len(units)]

    def _best_cut(
        self, units: Sequence[_Unit], cuts: Sequence[int], ideal: float, length: float
    ) -> int:
        """The cut next to `ideal`; one after a mark may be a quarter of the cue farther away."""

        def cost(cut: int) -> float:
            before = "".join(unit.written for unit in units[max(0, cut - 2) : cut]).rstrip()
            return abs(cut - ideal) - (_PAUSE_WORTH * length if before[-1:] in _PAUSES else 0)

        return min(cuts, key=cost)

    def _cuts(self, units: Sequence[_Unit]) -> Sequence[int]:
        """Where units may be cut."""
        return [cut for cut in range(1, len(units)) if self._may_cut(units, cut)]

    def _may_cut(self, units: Sequence[_Unit], cut: int) -> bool:
        if self._is_spaced:
            return units[cut - 1].is_space or (units[cut].is_space and not units[cut].is_code)
        is_word = all(
            unit.written.isascii() and unit.written.isalnum() for unit in units[cut - 1 : cut + 1]
        )
        return not is_word and units[cut].written not in _PAUSES

    def _lines(self, units: Sequence[_Unit], num_lines: int) -> Iterator[Sequence[_Unit]]:
        """Lines of bounded width, or so many, about equally long. A longer word stays whole."""
        while cuts := self._cuts(units):
            count = num_lines if self._keeps_lines else -(-_length(units) // self._width)
            if count <= 1:
                break
            ideal = len(units) / count
            short = [cut for cut in cuts if _length(_stripped(units[:cut])) <= self._width]
            usable = cuts if self._keeps_lines else short or cuts[:1]
            cut = min(usable, key=lambda cut: abs(cut - ideal))
            yield _stripped(units[:cut])
            units, num_lines = _stripped(units[cut:]), num_lines - 1
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


def _token(tag: regex.Match[str]) -> Token:
    kind = Kind.END if tag["end"] else Kind.START if tag["name"] else Kind.OTHER
    return Token(kind, *tag.span(), tag["name"] or "")


def _in_time(units: Sequence[_Unit]) -> list[_Unit]:
    """The units, with times within cues in order: others would be ignored."""
    times = {n: unit for n, unit in enumerate(units) if unit.is_code and _TIME.match(unit.written)}
    ordered = sorted((unit.written for unit in times.values()), key=_clock)
    changed = dict(zip(times, ordered, strict=True))
    return [unit._replace(written=changed.get(n, unit.written)) for n, unit in enumerate(units)]


def _clock(time: str) -> list[int]:
    """The numbers of a time, whose hours may be left out."""
    numbers = [int(number) for number in _NUMBER.findall(time)]
    return [0] * (_CLOCK_NUMBERS - len(numbers)) + numbers


def _split_at_codes(units: Sequence[_Unit], written: str) -> Iterator[Sequence[_Unit]]:
    """The units before, between and after the codes with `written`, and the rest of such a code."""
    part: list[_Unit] = []
    for unit in units:
        if unit.is_code and written in unit.written:
            before, _, after = unit.written.partition(written)
            yield [*part, *_units_of(before, unit.tags)]
            part = _units_of(after, unit.tags)
        else:
            part.append(unit)
    yield part


def _units_of(written: str, tags: tuple[int, ...] = ()) -> list[_Unit]:
    """The units of what stays as it is written."""
    matches = _UNIT.finditer(written)
    return [_Unit(match.group(), tags, is_code=len(match.group()) > 1) for match in matches]


def _stripped(units: Sequence[_Unit]) -> Sequence[_Unit]:
    start, end = 0, len(units)
    while start < end and units[start].is_space:
        start += 1
    while end > start and units[end - 1].is_space:
        end -= 1
    return units[start:end]


def _length(units: Sequence[_Unit]) -> int:
    return sum(not unit.is_code for unit in units)
