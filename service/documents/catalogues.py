"""Catalogues of messages: gettext's PO, JSON, Flutter's ARB, and Java's .properties.

The libraries for them write a file anew. Here they read it, and only values are written: keys,
comments, numbers and the formatting stay.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polib
import regex

from service.documents.icu_messages import with_whole_sentences
from service.documents.message_format import message_segment
from service.documents.po_header import read_header
from service.documents.segments import (
    DecodedText,
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode,
    decode_unicode,
    invalid,
    is_date_pattern,
    is_worded,
)
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Text

_MSGSTR = regex.compile(
    r"^[ \t]*+msgstr(?:\[(?P<form>[0-9]{1,3})\])?[ \t]*+"
    r"(?P<strings>\"[^\n]*(?:\n[ \t]*+\"[^\n]*)*+)",
    regex.MULTILINE,
)
_KEYWORD = regex.compile(r"\s*+(?:#~\s*+)?(?:msg|\")")
_WHOLE = regex.compile(
    r"\s*+(?:#~\s*+)?(?:msg\w++(?:\[[0-9]{1,3}\])?\s*+)?\"(?:[^\"\\]++|\\.)*+\"\s*+"
)
_CHARSET = regex.compile(r"(?<=\"Content-Type:[^\n\"]*charset=)[\w.:-]++")
_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What polib takes for line ends, but gettext does not."""
_STAND_INS = "".join(chr(0xFDD0 + place) for place in range(len(_LINE_ENDS)))
"""For them, characters that no text has."""
_WIDTH = 77
_LINE = regex.compile(r"(?:[^\\\n\r]++|\\(?:\r\n|[\s\S])|\\\Z)*+(?:\r\n|\n|\r|\Z)")
_COMMENT = regex.compile(r"[ \t\f]*+[#!][^\n\r]*+(?:\r\n|\n|\r|\Z)")
_KEY = regex.compile(
    r"[ \t\f]*+(?:[^\\\s=:]++|\\(?:\r\n[ \t\f]*+|[\n\r][ \t\f]*+|[\s\S]))*+[ \t\f]*+[=:]?[ \t\f]*+"
)
_ESCAPE = regex.compile(r"\\(?:u([0-9a-fA-F]{4})|(\r\n|\n|\r)[ \t\f]*+|([\s\S]?))")
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"})
_JSON_TOKEN = regex.compile(r'"(?:[^"\\]++|\\[\s\S])*+(?:"|\\?\Z)(?P<key>\s*+:)?|[\[\]{},]')
_SURROGATE, _MAX_DEPTH = regex.compile(r"[\ud800-\udfff]"), 500
_FORM = regex.compile(r"(?P<text>[^|]++)")
_COUNTED_FORM = regex.compile(r"(?:(?:\{\d++\}|\[[\d,*]++\])[ ]?+)?(?P<text>[^|]++)")
"""A form behind the numbers that it is for, as in `{0} None|[1,*] Some books`."""
_FORMS = regex.compile(r"(?=.*\s)[^|]*+(?<!\s)(?:\|(?=[\p{Lu}\[{:%])[^|]++(?<!\s))++", regex.DOTALL)
"""Forms of a plural as Laravel writes them."""
_STEM_FORMS = regex.compile(r"(?P<stem>\p{L}{2})\p{L}*+(?:\|(?P=stem)\p{L}*+)++")
"""Forms of one word as Vue writes them: `day|days`."""
_LOCALE = regex.compile(
    r'(?:"@@locale"|\A\s*+\{\s*+"locale"(?=\s*+:\s*+"[^"]*+"\s*+,\s*+"translations"))\s*+:\s*+'
    r'"(?P<code>[^"\\]*+)"'
)
"""The language of the file, as Flutter and Angular name it."""


def parse_po(content: bytes, options: FileOptions) -> TextFile:
    """PO: entries without a translation, or with `replaces` all. Obsolete entries and flags stay,
    and the header but for what a template leaves open."""
    decoded = decode(content, options.source, _po_in_utf_8, _CHARSET)
    text = decoded.text
    read = text.translate(str.maketrans(_LINE_ENDS, _STAND_INS))
    starts = [0, *itertools.accumulate(map(len, read.splitlines(keepends=True)))]
    entries = [entry for entry in _po_entries(read) if entry.msgid and not entry.obsolete]
    is_begun = not options.replaces and any(map(_po_is_begun, entries))
    has_plurals = any(entry.msgid_plural for entry in entries)
    header = read_header(text, options.target, is_begun=is_begun, has_plurals=has_plurals)
    line_end = "\r\n" if "\r\n" in text else "\n"
    filler = _PoFiller(text, line_end, header.num_forms, options.replaces)
    found = [
        one for entry in entries for one in filler.fill(starts[(entry.linenum or 1) - 1], entry)
    ]
    places = [one for one in found if isinstance(one, Place)]
    return TextFile(decoded, places, [*header.edits, *(e for e in found if isinstance(e, Edit))])


def _po_is_begun(entry: polib.POEntry) -> bool:
    """Whether there is a translation of it."""
    return bool(entry.msgstr or any(entry.msgstr_plural.values()))


def _po_in_utf_8(text: str) -> bytes:
    """Without a mark, which gettext refuses."""
    return _CHARSET.sub("UTF-8", text, 1).encode()


def _po_entries(text: str) -> Sequence[polib.POEntry]:
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


class _PoFiller(NamedTuple):
    """Fills in the entries of a file, which has so many forms of plurals."""

    text: str
    line_end: str
    num_forms: int | None
    replaces: bool

    def fill(self, start: int, entry: polib.POEntry) -> Iterator[Place | Edit]:
        """What is to be filled in of the entry that begins at `start`. One that is not begun gets
        as many forms of a plural as the file has."""
        spans = list(self._spans(start, entry))
        is_new = bool(entry.msgid_plural) and (self.replaces or not _po_is_begun(entry))
        wanted = (self.num_forms if is_new else None) or len(spans)
        done = entry.msgstr_plural or {0: entry.msgstr}
        last = spans[-1][1]
        for form in range(wanted):
            is_plural = entry.msgid_plural and (form or wanted == 1)
            source = entry.msgid_plural if is_plural else entry.msgid
            span, before = (last, last), f"{self.line_end}msgstr[{form}] "
            if form < len(spans):
                span, before = spans[form], ""
            if has_letters(source) and (self.replaces or not done.get(form)):
                spelling = functools.partial(_po_strings, self.line_end, before)
                text = source.translate(str.maketrans(_STAND_INS, _LINE_ENDS))
                segment = Segment(with_whole_sentences(text))
                is_kept = is_date_pattern(text)
                place = Place(*span, segment, spelling, is_filled=True)
                yield Edit(*span, spelling(text)) if is_kept else place
        if wanted < len(spans):
            yield Edit(spans[wanted - 1][1], last, "")

    def _spans(self, start: int, entry: polib.POEntry) -> Iterator[tuple[int, int]]:
        """Where the strings of each form stand."""
        found = _MSGSTR.search(self.text, start)
        if found is None:
            raise invalid("PO", f"the entry of line {entry.linenum} has no msgstr")
        while found:
            yield found.start("strings"), found.start("strings") + len(found["strings"].rstrip())
            found = _MSGSTR.match(self.text, found.end() + 1)


def _po_strings(line_end: str, before: str, translation: str) -> str:
    """A translation as strings of PO, with what is written before it."""
    lines = [polib.escape(line) for line in translation.splitlines(keepends=True)]
    if len(lines) < 2 and len(translation) <= _WIDTH:
        return f'{before}"{"".join(lines)}"'
    parts = [part for line in lines for part in _wrapped(line)]
    return before + line_end.join(f'"{part}"' for part in ["", *parts])


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


def parse_json(content: bytes, options: FileOptions) -> TextFile:
    """JSON: string values, if the file is what RFC 8259 allows. A key that begins with `@` or `$`
    keeps its value, and the language that the file names becomes the target."""
    decoded = decode_unicode(content)
    try:
        json.loads(decoded.text, parse_int=str, parse_float=str, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise invalid("JSON", f"line {error.lineno}") from None
    is_ascii = decoded.text.isascii() and "\\u" in decoded.text
    spelling = json.JSONEncoder(ensure_ascii=is_ascii).encode
    locales = [match.span("code") for match in _LOCALE.finditer(decoded.text)]
    places: list[Place] = []
    for start, end in _json_values(decoded.text):
        value = json.loads(decoded.text[start:end])
        is_locale = (start + 1, end - 1) in locales
        if is_worded(value) and not is_locale and not _SURROGATE.search(value):
            places += _json_places(decoded.text, start, end, value, spelling)
    return TextFile(decoded, places, [Edit(*span, options.target) for span in locales])


def _json_places(
    text: str, start: int, end: int, value: str, spelling: Callable[[str], str]
) -> Iterator[Place]:
    """The place of a string, or the places of the forms of a plural in it."""
    if not (_FORMS.fullmatch(value) or _STEM_FORMS.fullmatch(value)):
        yield Place(start, end, Segment(with_whole_sentences(value)), spelling)
        return
    pattern = _COUNTED_FORM if "|[" in value else _FORM
    for form in pattern.finditer(text, start + 1, end - 1):
        read = json.loads(f'"{form["text"]}"')
        yield Place(*form.span("text"), Segment(read), lambda written: spelling(written)[1:-1])


def _refused(name: str) -> object:
    raise invalid("JSON", f"it has {name}")


def _json_values(text: str) -> Iterator[tuple[int, int]]:
    """Where the string values of valid JSON stand."""
    depth, kept = 0, 0
    for token in _JSON_TOKEN.finditer(text):
        mark = token.group()
        if mark in ("]", "}", ",") and kept == depth:
            kept = 0
        if mark in ("]", "}"):
            depth -= 1
        elif mark in ("[", "{"):
            depth += 1
            if depth > _MAX_DEPTH:
                raise invalid("JSON", f"it is nested deeper than {_MAX_DEPTH} levels")
        elif token["key"] and not kept and mark[1] in "@$":
            kept = depth
        elif mark != "," and not token["key"] and not kept:
            yield token.span()


def parse_properties(content: bytes, options: FileOptions) -> TextFile:
    """.properties in UTF-8 or ISO 8859-1, as Java reads them. A file of ASCII gets only escapes."""
    try:
        decoded = decode_unicode(content)
    except InvalidDocument:
        if b"\0" in content:
            raise
        decoded = DecodedText(content.decode("latin-1"), _encode_latin)
    is_ascii = decoded.text.isascii()
    places = []
    for start, end in _property_values(decoded.text):
        value = _property_read(decoded.text[start:end])
        if is_worded(value):
            segment, spell = message_segment(value)
            places.append(Place(start, end, segment, _PropertySpelling(spell, is_ascii)))
    return TextFile(decoded, places)


def _encode_latin(text: str) -> bytes:
    return _escape(text, 0xFF).encode("latin-1")


@dataclass(frozen=True)
class _PropertySpelling:
    """Writes a translation, spelled as its message, as a value."""

    spell: Callable[[Any], str]
    is_ascii: bool

    def __call__(self, translation: Text) -> str:
        written = self.spell(translation).translate(_WRITTEN)
        if written[:1] == " ":
            written = "\\" + written
        return _escape(written, 0x7F) if self.is_ascii else written


def _property_values(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(text):
        if comment := _COMMENT.match(text, position):
            position = comment.end()
            continue
        line = _LINE.match(text, position)
        if line is None or line.end() == position:
            raise invalid(".properties", f"line {text.count(chr(10), 0, position) + 1}")
        key = _KEY.match(text, position, line.end())
        end = position + len(line.group().rstrip("\r\n"))
        if key and key.end() < end:
            yield key.end(), end
        position = line.end()


def _property_read(written: str) -> str:
    """The value that is written so. A pair of surrogates is one character."""
    read = _ESCAPE.sub(_unescaped, written)
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(match: regex.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return "" if match[2] else _ESCAPED.get(match[3], match[3])


def _escape(text: str, most: int) -> str:
    """Spell characters above `most` by their UTF-16 units."""
    return "".join(char if ord(char) <= most else _units(char) for char in text)


def _units(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
