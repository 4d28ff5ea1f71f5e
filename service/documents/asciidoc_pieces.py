"""The pieces of a translation into AsciiDoc, written so that Asciidoctor reads each as it is.

A mark such as *this* stands at no letters: where a translation has some beside it, it becomes
**this**, and an address gets brackets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex

from service.documents.asciidoc_marks import AdocMark

_BEFORE, _AFTER = regex.compile(r"[\w;:}<>&]"), regex.compile(r"\w")
"""What a mark may not stand beside."""
_OLD_TICK = (regex.compile(r"[\w`]"),) * 2
_TICK = regex.compile(r"[\w;:}<>&\"'`]"), regex.compile(r"[\w\"'`]")
_BESIDE_CODE = {
    (True, False): _TICK,
    (True, True): _OLD_TICK,
    **dict.fromkeys([(False, False), (False, True)], (_BEFORE, _AFTER)),
}
"""What code may not stand beside, by whether its mark is a backtick, and by `is_compatible`."""
_MAY_PRECEDE = regex.compile(r"[\s>()\[;\"']")
_MAY_FOLLOW = regex.compile(r"(?:[.,]*+|\)?[;:]?[.,]*+)(?:[\s<]|\Z)")
_IN_NAME = regex.compile(r"[\w.@-]")
_BARE = regex.compile(r"\w++://|\{")
_EMPTY = "{empty}"
_FOLLOWING = 3
_SCRIPT = regex.compile(r"[\^~]")
_SIGNS = regex.compile(r"[*_#`+^~{\\<\[&]|\((?=\()|:(?=\S)|@(?=\w)|(?<=`)['\"]|['\"](?=['`])")
OWN = regex.compile(r"\{(?:empty|nbsp|vbar|zwsp)\}|&#\d+;")
"""What stands for a sign that would be read as a mark."""


class AdocPiece(NamedTuple):
    """A part of a translation. `mark`: how it is written depends on what is around it."""

    kind: Literal["text", "code", "open", "close"]
    written: str
    number: int = -1
    mark: AdocMark | None = None


class Joined:
    """The pieces beside each other. `written`: how; `spans`: where their marks stand."""

    def __init__(self, pieces: list[AdocPiece], *, is_compatible: bool) -> None:
        """`is_compatible`: see Marks."""
        self._pieces, self._is_compatible = pieces, is_compatible
        self._edges = [("", ""), *map(_edges, pieces), ("", "")]
        self._long = {piece.number for place, piece in enumerate(pieces) if self._is_long(place)}
        self.spans: set[tuple[int, int]] = set()
        written, starts, length = [], dict[int, int](), 0
        for place, piece in enumerate(pieces):
            text = self._beside(place)
            if piece.kind == "open":
                starts[piece.number] = length
            elif piece.kind != "text":
                self.spans.add((starts.get(piece.number, length), length + len(text)))
            written.append(text)
            length += len(text)
        self.written = "".join(written)

    def _around(self, place: int) -> tuple[str, str]:
        """The signs before and after a piece."""
        return self._edges[place][1], self._edges[place + 2][0]

    def _is_long(self, place: int) -> bool:
        """Whether one of the two marks of a pair has letters beside it, or spaces in it."""
        piece = self._pieces[place]
        if piece.mark is None or piece.mark.kind != "pair":
            return False
        before, after = self._around(place)
        sign = piece.mark.written
        outside, inside = (before, after) if piece.kind == "open" else (after, before)
        is_beside = _AFTER if piece.kind == "close" else _BEFORE
        return bool(is_beside.match(outside)) or inside.isspace() or sign in (before, after)

    def _beside(self, place: int) -> str:
        piece = self._pieces[place]
        mark = piece.mark
        if mark is None:
            return piece.written
        if mark.kind == "pair":
            return self._pair(place, mark)
        if mark.kind == "code":
            return self._code(place, mark)
        return self._link(place, mark)

    def _pair(self, place: int, mark: AdocMark) -> str:
        piece, sign = self._pieces[place], mark.written
        if piece.number in self._long and len(sign) == 1 and sign not in "^~":
            sign = ("_" if sign == "'" else sign) * 2
        if piece.kind == "close":
            return sign
        is_role = len(sign) > 1 and self._around(place)[0] == "]"
        return f"{_EMPTY * is_role}{mark.attributes}{sign}"

    def _code(self, place: int, mark: AdocMark) -> str:
        written = self._pieces[place].written
        before, after = self._around(place)
        is_tick, sign, attributes = mark.written == "`", mark.written, mark.attributes
        is_beside = _BESIDE_CODE[is_tick, self._is_compatible]
        if len(sign) > 1 or not (is_beside[0].match(before) or is_beside[1].match(after)):
            return written
        if is_tick and self._is_compatible:
            return f"{_EMPTY}{written}{_EMPTY}"
        if written.startswith("`+") and not is_beside[0].match(before):
            return f"{written}{_EMPTY}"
        inside = written[len(attributes) :]
        return f"{_EMPTY * (before == ']')}{attributes}{sign}{inside}{sign}"

    def _link(self, place: int, mark: AdocMark) -> str:
        """An address or a macro. What begins or ends with a mark of a pair needs nothing."""
        written, following = self._pieces[place].written, self._pieces[place + 1 :][:_FOLLOWING]
        before = self._around(place)[0]
        is_begun = not before or _MAY_PRECEDE.match(before) or self._is_pair(place - 1, "open")
        start = "" if is_begun else "{zwsp}" if written[:1] == "{" else "link:"
        if mark.kind == "link":
            is_macro = self._pieces[place].kind == "close" or not _BARE.match(written)
            return written if is_macro else f"{start}{written}"
        if mark.kind != "address":
            return written
        after = "".join(piece.written for piece in following)
        after = "" if self._is_pair(place + 1, "close") else after
        if not _BARE.match(written):
            is_apart = is_begun and not _IN_NAME.match(after)
            return written if is_apart else f"mailto:{written}[]"
        is_ended = bool(mark.attributes) or (not start.endswith(":") and _MAY_FOLLOW.match(after))
        return f"{start}{written}{'' if is_ended else '[]'}"

    def _is_pair(self, place: int, kind: str) -> bool:
        if not 0 <= place < len(self._pieces) or self._pieces[place].kind != kind:
            return False
        mark = self._pieces[place].mark
        return mark is not None and mark.kind == "pair"


def _edges(piece: AdocPiece) -> tuple[str, str]:
    """The first and the last sign of a piece, whatever is around it."""
    mark = piece.mark
    if mark and mark.kind == "pair":
        sign = "_" if mark.written == "'" else mark.written
        first = mark.attributes if piece.kind == "open" else ""
        return (first or sign)[0], sign[-1]
    return piece.written[:1], piece.written[-1:]


def spaced(pieces: list[AdocPiece]) -> Iterator[AdocPiece]:
    """The pieces with no sign of a mark in a text, and a space behind others with a sign of a
    script."""
    for piece, following in itertools.zip_longest(pieces, pieces[1:]):
        if piece.kind == "text":
            yield piece._replace(written=_safe(piece.written))
            continue
        yield piece
        is_joined = following and following.written[:1].strip() and piece.kind != "open"
        if is_joined and _SCRIPT.search(piece.written):
            yield AdocPiece("text", " ")


def _safe(text: str) -> str:
    """A text in which no sign begins or ends a mark."""
    parts = (
        part if OWN.fullmatch(part) else _SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", part)
        for part in regex.split(rf"({OWN.pattern})", text)
    )
    return "".join(parts)


def kept(pieces: Iterator[AdocPiece]) -> Iterator[AdocPiece]:
    """The pieces without marks around nothing."""
    found: list[AdocPiece] = []
    for piece in pieces:
        last = next((n for n in (-1, -2) if len(found) >= -n and found[n].kind == "open"), 0)
        is_empty = last and (
            last == -1 or (found[-1].kind == "text" and not found[-1].written.strip())
        )
        if piece.kind == "close" and is_empty and piece.mark and piece.mark.kind == "pair":
            del found[last]
        elif piece.written or piece.kind != "text":
            found.append(piece)
    yield from found
