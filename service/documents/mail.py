"""E-mail: the subjects and texts of a message and of those that it forwards; attachments stay.

Texts are replaced where they stand, because Python's generator of messages changes line ends,
boundaries and the spaces of headers.
"""

from __future__ import annotations

import codecs
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from email.errors import HeaderParseError
from email.header import Header, decode_header
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.documents.mail_parts import MailPart, decoded, line_end
from service.documents.mail_text import Flowed, mail_places
from service.documents.pages import named_utf_8, page
from service.documents.segments import (
    DecodedText,
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    invalid,
)
from service.errors import InvalidDocument
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Text

_MAX_DEPTH, _LONGEST_SUBJECT = 20, 2000
_REPLY = regex.compile(
    r"(?:(?:re|fwd?|aw|wg|antw|sv|vs|rv|tr|ref|回复|答复|转发|回覆|轉寄)(?:\[\d{1,3}\])?\s*+[:：]\s*+"
    r"|\[[\w.:#/-]{1,40}\]\s*+)*+",
    regex.IGNORECASE,
)
"""Marks of answers, forwarded messages and lists, which programs know."""
_ANSWER = regex.compile(r"(?:回复|答复|回覆)\s*+[:：]\s*+")
_FORWARDED = regex.compile(r"(?:转发|轉寄)\s*+[:：]\s*+")
_ARMOUR = regex.compile(r"^-----BEGIN PGP (?P<signed>SIGNED )?MESSAGE-----", regex.MULTILINE)
_USUAL = ("from", "to", "subject", "date", "received", "content-type", "mime-version")
_PLAIN, _HTML = "text/plain", "text/html"
_MESSAGES = ("message/rfc822", "message/global")
_ENCRYPTED = "the message is encrypted; save it without encryption"
_SIGNED = "the message is signed, and a translation would break that; save it without signature"
_SECURED = {
    "multipart/signed": _SIGNED,
    "multipart/encrypted": _ENCRYPTED,
    "application/pkcs7-mime": _ENCRYPTED,
    "application/x-pkcs7-mime": _ENCRYPTED,
}


class _Piece(NamedTuple):
    """A text of a message. `edits`: of a translation."""

    text: TextFile
    edits: Callable[[str], Iterable[Edit]]


class Mail:
    """A message."""

    def __init__(self, content: bytes, options: FileOptions) -> None:
        self._content, self._options = content, options
        self._mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        self._source = content[len(self._mark) :].decode("latin-1")
        self._languages: list[Edit] = []
        whole = MailPart(self._source, Span(0, len(self._source)), _PLAIN)
        if not any(name in whole.fields for name in _USUAL):
            raise invalid("e-mail", "it does not begin with headers such as From and Subject")
        self._pieces = list(self._message(whole, 0))
        self.segments = [one for piece in self._pieces for one in piece.text.segments]

    def write(self, translations: Sequence[Text]) -> bytes:
        if list(translations) == [segment.text for segment in self.segments]:
            return self._content
        return self.rewrite(translations)

    def rewrite(self, translations: Sequence[Text]) -> bytes:
        """As `write`, with the target as the language whatever is translated."""
        remaining, edits = iter(translations), list(self._languages)
        for text, edits_of in self._pieces:
            own = list(itertools.islice(remaining, len(text.segments)))
            if own != [segment.text for segment in text.segments]:
                edits += edits_of(text.rewrite(own).decode())
        whole = DecodedText(self._source, _bytes)
        return self._mark + TextFile(whole, (), edits).rewrite([])

    def _message(self, part: MailPart, depth: int) -> Iterator[_Piece]:
        if subject := part.fields.get("subject"):
            yield from self._subject(subject)
        yield from self._part(part, depth)

    def _subject(self, value: Span) -> Iterator[_Piece]:
        text = self._read_subject(self._source[slice(*value)])
        found = _REPLY.match(text)
        marks = found.group() if found else ""
        segment = Segment(text[len(marks) :])
        if has_letters(text[len(marks) :]):
            marks = _FORWARDED.sub("Fwd: ", _ANSWER.sub("Re: ", marks))
            place = Place(0, len(text), segment, lambda translation: marks + translation)
            edits = functools.partial(self._subject_edits, value)
            yield _Piece(TextFile(DecodedText(text, str.encode), [place]), edits)

    def _read_subject(self, written: str) -> str:
        """Empty if it is damaged."""
        if len(written) > _LONGEST_SUBJECT:
            return ""
        try:
            parts = [
                decoded(_bytes(word), (charset or "").lower(), self._options.source)
                for word, charset in decode_header(written)
            ]
        except (HeaderParseError, InvalidDocument):
            return ""
        return " ".join("".join(parts).split())

    def _subject_edits(self, value: Span, text: str) -> Iterator[Edit]:
        header = Header(" ".join(text.split()), None if text.isascii() else "utf-8", 76, "Subject")
        yield Edit(*value, header.encode(linesep=line_end(self._source)))

    def _part(self, part: MailPart, depth: int) -> Iterator[_Piece]:
        """Raises InvalidDocument."""
        kind = part.message.get_content_type()
        if kind in _SECURED:
            is_signed = part.message.get_param("smime-type") == "signed-data"
            raise InvalidDocument(_SIGNED if is_signed else _SECURED[kind])
        if depth > _MAX_DEPTH:
            raise invalid("e-mail", f"it is nested deeper than {_MAX_DEPTH} parts")
        if kind in _MESSAGES:
            yield from self._message(MailPart(self._source, part.body, _PLAIN), depth + 1)
        elif part.message.get_content_maintype() == "multipart":
            self._languages += self._language(part)
            inner = _MESSAGES[0] if kind == "multipart/digest" else _PLAIN
            for span in part.parts():
                yield from self._part(MailPart(self._source, span, inner), depth + 1)
        elif kind in (_PLAIN, _HTML) and not part.is_attached:
            self._languages += self._language(part)
            yield self._page(part) if kind == _HTML else self._plain(part)

    def _language(self, part: MailPart) -> Iterator[Edit]:
        if value := part.fields.get("content-language"):
            yield Edit(*value, self._options.target)

    def _page(self, part: MailPart) -> _Piece:
        text = DecodedText(part.text(self._options.source), str.encode)
        return _Piece(
            page(text, self._options), functools.partial(part.edits, in_utf_8=named_utf_8)
        )

    def _plain(self, part: MailPart) -> _Piece:
        text = part.text(self._options.source)
        if armour := _ARMOUR.search(text):
            raise InvalidDocument(_SIGNED if armour["signed"] else _ENCRYPTED)
        is_flowed = str(part.message.get_param("format")).lower() == "flowed"
        deletes_space = str(part.message.get_param("delsp")).lower() == "yes"
        places = mail_places(text, Flowed(deletes_space) if is_flowed else None)
        return _Piece(TextFile(DecodedText(text, str.encode), places), part.edits)


def parse(content: bytes, options: FileOptions) -> Mail:
    """Raises InvalidDocument."""
    return Mail(content, options)


def _bytes(written: str | bytes) -> bytes:
    """What each character stands for."""
    return written if isinstance(written, bytes) else written.encode("latin-1")
