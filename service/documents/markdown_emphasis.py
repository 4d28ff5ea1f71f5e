"""Marks of emphasis where CommonMark reads them.

A mark between punctuation and a letter cannot both end and begin something, so `**Note:**text`
shows its asterisks. Such punctuation moves out of the emphasis, or a space parts mark and letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import regex

PieceKind = Literal["text", "code", "note", "space", "open", "close"]
_MIRRORED: Mapping[PieceKind, PieceKind] = {"open": "close", "close": "open"}
_MOVABLE = ".,:;!?…-–—。，、；：！？· \t"
"""Punctuation that reads as well after an emphasis as in it."""
_BRACKETS = '()[]{}（）【】「」『』“”‘’«»„"'
_ROUNDS = 2
"""What moves out of one emphasis may leave a space at the end of another."""
_UNDERSCORES = regex.compile(r"\A_++")
_MARKS = regex.compile(r"[*_~=`<\[\]]|!\Z|\\(?=[!-/:-@\[-`{-~])")


class MarkOrText(NamedTuple):
    """A part of a block as it is written. `open` and `close` are marks of emphasis, a `space`
    stands for the spaces beside it, a `note` touches the word before it. `name`: of what a parser
    finds there; `is_bare`: what the source emphasises has no punctuation at this end."""

    written: str
    kind: PieceKind = "text"
    name: str = ""
    is_bare: bool = False


def emphasis(opening: str, inner: str, closing: str, name: str) -> tuple[MarkOrText, MarkOrText]:
    """The marks around what the source emphasises."""
    bare = [char not in _MOVABLE + _BRACKETS for char in (inner[:1], inner[-1:])]
    return MarkOrText(opening, "open", name, bare[0]), MarkOrText(closing, "close", name, bare[1])


def settled(pieces: Sequence[MarkOrText]) -> Sequence[MarkOrText]:
    """The pieces with all emphasis and code as CommonMark reads it, and none around nothing."""
    pieces = _apart(piece for piece in pieces if piece.written)  # a stop may be written as nothing
    for _ in range(_ROUNDS):
        for step in (_spaced, _trimmed, _parted):
            pieces = _mirrored(step(_mirrored(step(pieces))))
        pieces = _starred(_without_empty(pieces))
    return pieces


def escaped(pieces: Iterable[MarkOrText]) -> list[MarkOrText]:
    """The pieces with no marks in their texts."""
    return [
        piece._replace(written=_MARKS.sub(r"\\\g<0>", piece.written))
        if piece.kind == "text"
        else piece
        for piece in pieces
    ]


def _mirrored(pieces: Iterable[MarkOrText]) -> list[MarkOrText]:
    """The pieces from right to left, with ends for beginnings."""
    return [
        piece._replace(written=piece.written[::-1], kind=_MIRRORED.get(piece.kind, piece.kind))
        for piece in reversed(list(pieces))
    ]


def _apart(pieces: Iterable[MarkOrText]) -> list[MarkOrText]:
    """With a space between two spans of code, which would be one, and none before a note."""
    done: list[MarkOrText] = []
    for piece in pieces:
        if piece.kind == "note" and done and done[-1].kind == "text":
            done += _texts(done.pop().written.rstrip(" "))
        if done and done[-1].kind == piece.kind == "code":
            is_joined = done[-1].written.endswith("`") and piece.written.startswith("`")
            done += [MarkOrText(" ")] * is_joined
        done.append(piece)
    return done


def _spaced(pieces: Sequence[MarkOrText]) -> list[MarkOrText]:
    """With no other spaces before a space of its own kind."""
    done: list[MarkOrText] = []
    for piece in pieces:
        if piece.kind == "space" and done and done[-1].kind == "text":
            done += _texts(done.pop().written.rstrip(" "))
        done.append(piece)
    return done


def _trimmed(pieces: Sequence[MarkOrText]) -> list[MarkOrText]:
    """With the spaces before an end of emphasis after it."""
    done: list[MarkOrText] = []
    for piece in pieces:
        spaces: list[MarkOrText] = []
        while piece.kind == "close" and done and _ends_in_space(done[-1]):
            text = done.pop()
            body = "" if text.kind == "space" else text.written.rstrip()
            spaces.insert(0, text._replace(written=text.written[len(body) :]))
            done += _texts(body)
        done += [piece, *spaces]
    return done


def _ends_in_space(piece: MarkOrText) -> bool:
    return piece.kind == "space" or (piece.kind == "text" and piece.written[-1:].isspace())


def _without_empty(pieces: Iterable[MarkOrText]) -> list[MarkOrText]:
    done: list[MarkOrText] = []
    for piece in pieces:
        if piece.kind == "close" and done and done[-1].kind == "open":
            done.pop()
        else:
            done.append(piece)
    return done


def _starred(pieces: Sequence[MarkOrText]) -> list[MarkOrText]:
    """With asterisks for the underscores that a letter touches from outside."""
    done, opened = list(pieces), []
    for end, piece in enumerate(pieces):
        if piece.kind == "open":
            opened.append(end)
        elif piece.kind == "close":
            start = opened.pop()
            before = pieces[start - 1].written[-1] if start else " "
            after = pieces[end + 1].written[0] if end + 1 < len(pieces) else " "
            if "_" in piece.written and not (_parts(before) and _parts(after)):
                for at in (start, end):
                    asterisks = _UNDERSCORES.sub(lambda m: "*" * len(m[0]), done[at].written)
                    done[at] = done[at]._replace(written=asterisks)
    return done


def _parted(pieces: Sequence[MarkOrText]) -> list[MarkOrText]:
    """With no end of emphasis between punctuation and a letter, or before the same mark."""
    done: list[MarkOrText] = []
    for index, piece in enumerate(pieces):
        done.append(piece)
        if piece.kind != "close":
            continue
        mark = piece.written[0]
        rest = map(pieces.__getitem__, range(index + 1, len(pieces)))
        after = next((p for p in rest if not _is_end(p, mark)), MarkOrText(" "))
        before = next(p for p in reversed(done) if not _is_end(p, mark))
        is_stuck = _is_punctuation(before.written[-1]) and not _parts(after.written[0])
        if not ((piece.is_bare or is_stuck) and _move_out(done)) and (
            is_stuck or (after.kind == "open" and after.written[0] == mark)
        ):
            done.append(MarkOrText(" "))
    return done


def _move_out(done: list[MarkOrText]) -> bool:
    """Move the punctuation before the last piece, an end of emphasis, after it -> whether there is
    any and something else stays. Brackets move where the source has none and none is within."""
    *_, before, inner, end = [MarkOrText(" ", "open"), *done[-3:]]
    body = inner.written.rstrip(_MOVABLE)
    if end.is_bare and set(_BRACKETS).isdisjoint(inner.written.rstrip(_MOVABLE + _BRACKETS)):
        body = inner.written.rstrip(_MOVABLE + _BRACKETS)
    if inner.kind != "text" or body == inner.written or not (body or before.kind != "open"):
        return False
    done[-2:] = [*_texts(body), end, MarkOrText(inner.written[len(body) :])]
    return True


def _texts(text: str) -> list[MarkOrText]:
    return [MarkOrText(text)] if text else []


def _is_end(piece: MarkOrText, mark: str) -> bool:
    return piece.kind == "close" and piece.written[0] == mark


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def _parts(char: str) -> bool:
    """Whether every version of CommonMark takes a character for a space or punctuation."""
    is_ascii_symbol = char.isascii() and not char.isalnum()
    return char.isspace() or is_ascii_symbol or unicodedata.category(char)[0] == "P"
