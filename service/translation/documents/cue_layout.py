"""Lay a translated sentence back over the cues of subtitles that its source ran through."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.translation.documents.inline import InlineText, joint
from service.translation.language.segmentation import is_spaced

_TAG = regex.compile(
    r"<(?P<end>/)?(?P<name>[A-Za-z][\w]*+)[^<>\n\r]*+>|<\d[\d:.]*+>|\{\\[^{}\n\r]*+\}"
)
_HEAD = regex.compile(r"(?:\{\\[^{}\n\r]*+\}|<v[ .][^<>\n\r]*+>|\s)*+")
_TAIL = regex.compile(r"\s*+</v>\s*+\Z")
_WRAPPED = regex.compile(r"(<(\w++)[^<>\n\r]*+>)([^<>]*+)(</\2>)")
_CHARACTER = regex.compile(r"&(?:\w++|#\w++);|[\s\S]")
_LINES = regex.compile(r"\s*(?:\r\n|\n|\r)\s*")
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


class _Cue(NamedTuple):
    """What stays around a cue's text, its length, and its line end."""

    head: str
    tail: str
    length: int


class CueLayout:
    """The text of neighbouring cues as one segment, and the way back to them."""

    def __init__(self, texts: Sequence[str], target: str, *, is_escaped: bool) -> None:
        """`texts`: what each cue shows; `is_escaped`: `&` is written as a reference."""
        self._is_escaped, self._is_spaced = is_escaped, is_spaced(target)
        self._line_end = next((e for e in ("\r\n", "\n", "\r") if any(e in t for t in texts)), "\n")
        self._width = _LINE_WIDTH if self._is_spaced else _UNSPACED_LINE_WIDTH
        self._inline, self._last = InlineText(), ""
        self._cues = [self._add(text, is_first=not n) for n, text in enumerate(texts)]

    @property
    def text(self) -> str:
        return self._inline.text

    def write(self, translation: str) -> list[str]:
        """The text of each cue."""
        units = list(self._units(translation))
        position, written = 0, []
        for cue, end in zip(self._cues, self._ends(units), strict=True):
            speeches = _split_at_codes(units[position:end], self._line_end)
            lines = [line for speech in speeches for line in self._lines(_stripped(speech))]
            text = self._line_end.join(self._rendered(line) for line in lines)
            written.append(cue.head + text + cue.tail)
            position = end
        return written

    def _add(self, text: str, *, is_first: bool) -> _Cue:
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
        return _Cue(head, tail, max(1, len(_TAG.sub("", body))))

    def _add_body(self, body: str) -> None:
        """Add a cue's text. Its line breaks, if any are left, are between two speakers."""
        tags = list(_TAG.finditer(body))
        partners = _pairs(tags)
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
        self._inline.add(first if self._is_escaped else html.escape(first, quote=False))
        for line in others:
            self._inline.stop(self._line_end)
            self._inline.add(line if self._is_escaped else html.escape(line, quote=False))

    def _units(self, translation: str) -> Iterator[_Unit]:
        tags: tuple[int, ...] = ()
        filled: set[int] = set()
        for event in self._inline.events(translation):
            if event.kind == "open":
                tags = (*tags, event.number)
                continue
            is_code = event.kind == "code" and event.written != self._line_end
            if is_code or (event.kind == "text" and event.written.strip()):
                filled.update(tags)
            if event.kind == "close":
                if event.number not in filled:
                    yield _Unit("", tags, is_code=True)
                    filled.update(tags)
                tags = tags[:-1]
            elif event.kind == "code":
                yield _Unit(event.written, tags, is_code=True)
            else:
                for match in _CHARACTER.finditer(event.written):
                    char = match.group()
                    yield _Unit(char if self._is_escaped else html.unescape(char), tags)

    def _ends(self, units: Sequence[_Unit]) -> list[int]:
        """Where each cue's text ends, in proportion to the lengths of the source's."""
        total = sum(cue.length for cue in self._cues)
        ends: list[int] = []
        before = 0
        for cue in self._cues[:-1]:
            before += cue.length
            ideal = before / total * len(units)
            least = ends[-1] if ends else 0
            ends.append(self._best_cut(units, ideal, least, cue.length / total * len(units)))
        return [*ends, len(units)]

    def _best_cut(self, units: Sequence[_Unit], ideal: float, least: int, length: float) -> int:
        """The cut next to `ideal`; one after a mark may be a quarter of the cue farther away."""
        best, best_cost = max(least, min(round(ideal), len(units))), float("inf")
        for cut in range(max(1, least + 1), len(units)):
            if not self._may_cut(units, cut):
                continue
            is_pause = _last_char(units, cut) in _PAUSES
            cost = abs(cut - ideal) - (_PAUSE_WORTH * length if is_pause else 0)
            if cost < best_cost:
                best, best_cost = cut, cost
        if best_cost == float("inf"):
            return len(units)
        return best

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
            cuts = [
                cut
                for cut in range(1, len(units))
                if self._may_cut(units, cut) and _length(_stripped(units[:cut])) <= self._width
            ]
            cut = min(cuts, key=lambda cut: abs(cut - ideal), default=0)
            cut = cut or next((c for c in range(1, len(units)) if self._may_cut(units, c)), 0)
            if not cut:
                break
            yield _stripped(units[:cut])
            units = _stripped(units[cut:])
        yield units

    def _rendered(self, units: Sequence[_Unit]) -> str:
        """Units as written; pairs that go on beyond them are closed and begun again."""
        parts: list[str] = []
        opened: tuple[int, ...] = ()
        for tags, written in [*((unit.tags, unit.written) for unit in units), ((), "")]:
            common = next(
                (n for n, (a, b) in enumerate(zip(opened, tags, strict=False)) if a != b),
                min(len(opened), len(tags)),
            )
            parts += [self._inline.codes[number][1] for number in reversed(opened[common:])]
            parts += [self._inline.codes[number][0] for number in tags[common:]]
            parts.append(written)
            opened = tags
        return "".join(parts)


def _joined(text: str, line: str) -> str:
    return text + joint(text, line) + line


def _pairs(tags: Sequence[regex.Match[str]]) -> dict[int, int]:
    """The partners of properly nested tags."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for number, tag in enumerate(tags):
        if tag["name"] and not tag["end"]:
            opened.append(number)
        elif tag["end"] and opened and tags[opened[-1]]["name"] == tag["name"]:
            start = opened.pop()
            partners[start], partners[number] = number, start
    return partners


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


def _last_char(units: Sequence[_Unit], cut: int) -> str:
    """The last character before the cut that is no space."""
    for unit in reversed(units[max(0, cut - 2) : cut]):
        if not unit.is_space:
            return unit.written[-1:]
    return ""
