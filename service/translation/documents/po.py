"""PO, the catalogues of gettext: polib reads the entries, and only msgstr is written.

polib writes a catalogue anew, with its own line widths; here every other line stays as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polib
import regex

from service.errors import InvalidDocument
from service.translation.documents.encodings import decode
from service.translation.documents.segments import (
    FileOptions,
    Place,
    PlacedText,
    Segment,
    TextFile,
    invalid,
)

_MSGSTR = regex.compile(r"[ \t]*+msgstr(?:\[(\d{1,3})\])?[ \t]*+(?=\")")
_STRING_LINE = regex.compile(r"[ \t]*+\"")
_KEYWORD = regex.compile(r"\s*+(?:#~\s*+)?(?:msg|\")")
_WHOLE = regex.compile(
    r"\s*+(?:#~\s*+)?(?:msg\w++(?:\[\d{1,3}\])?\s*+)?\"(?:[^\"\\]++|\\.)*+\"\s*+"
)
_LETTER = regex.compile(r"\p{L}")
_WIDTH = 77


class _Message(NamedTuple):
    """msgstr, or msgstr[form]: the span of its strings, from the first quote to the last."""

    form: int
    start: int
    end: int


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Entries without a translation, or with `replaces` all. Obsolete entries, flags and the header
    stay."""
    text, encode = decode(content)
    lines = _Lines(text)
    places = [place for entry in _entries(text) for place in _places(entry, lines, options)]
    return TextFile(PlacedText(text, places), encode)


def _entries(text: str) -> Sequence[polib.POEntry]:
    """Raises InvalidDocument. polib opens what is the name of a file; no name has a line end."""
    for number, line in enumerate(text.splitlines(), 1):
        if _KEYWORD.match(line) and not _WHOLE.fullmatch(line):
            raise invalid("PO", f"line {number}")
    given = text + "\n"
    if os.path.exists(given):
        raise InvalidDocument("the file is not a PO file")
    try:
        return list(polib.pofile(given, check_for_duplicates=False))
    except (OSError, ValueError, IndexError, AttributeError, KeyError, UnicodeError) as error:
        raise invalid("PO", str(error).replace(given, "")[:200] or "it cannot be parsed") from None


def _places(entry: polib.POEntry, lines: _Lines, options: FileOptions) -> Iterator[Place]:
    if entry.obsolete or not entry.msgid:
        return
    messages = list(lines.messages(entry.linenum or 1))
    if not messages:
        raise invalid("PO", f"the entry of line {entry.linenum} has no msgstr")
    for message in messages:
        is_plural = entry.msgid_plural and message.form > 0
        source = entry.msgid_plural if is_plural else entry.msgid
        forms = entry.msgstr_plural or {0: entry.msgstr}
        is_done = bool(forms.get(message.form))
        if _LETTER.search(source) and (options.replaces or not is_done):
            yield Place(message.start, message.end, Segment(source), _Spelling(lines.end), True)


@dataclass(frozen=True)
class _Spelling:
    """Writes a translation as strings of PO."""

    line_end: str

    def __call__(self, translation: str) -> str:
        lines = [polib.escape(line) for line in translation.splitlines(keepends=True)]
        if len(lines) < 2 and len(translation) <= _WIDTH:
            return f'"{"".join(lines)}"'
        parts = [part for line in lines for part in _wrapped(line)]
        return self.line_end.join(f'"{part}"' for part in ["", *parts])


def _wrapped(line: str) -> Iterator[str]:
    """Parts of a line that end behind a space."""
    start = 0
    while len(line) - start > _WIDTH:
        cut = line.rfind(" ", start, start + _WIDTH) + 1
        if cut <= start:
            cut = line.find(" ", start) + 1 or len(line)
        yield line[start:cut]
        start = cut
    if start < len(line):
        yield line[start:]


class _Lines:
    """The lines of a catalogue by their numbers from 1."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self.end = "\r\n" if "\r\n" in text else "\n"

    def messages(self, number: int) -> Iterator[_Message]:
        """The strings of msgstr of the entry that begins at this line."""
        index = number - 1
        while index < len(self._lines) and not _MSGSTR.match(self._lines[index]):
            index += 1
        while index < len(self._lines) and (found := _MSGSTR.match(self._lines[index])):
            start, last = self._starts[index] + found.end(), index
            while last + 1 < len(self._lines) and _STRING_LINE.match(self._lines[last + 1]):
                last += 1
            end = self._starts[last] + len(self._lines[last].rstrip())
            yield _Message(int(found[1] or 0), start, end)
            index = last + 1
