"""The parts of a message: their header fields, and their bodies in any charset and transfer
encoding. Each byte of a message is a character of its source."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from email.message import Message

import regex

from model.text.spans import Span
from service.documents.segments import Edit, decode
from service.errors import InvalidDocument, shown

_FIELD = regex.compile(
    r"^(?P<name>[!-9;-~]++)[ \t]*+:[ \t]*+(?P<value>[^\n]*+(?:\n[ \t][^\n]*+)*+)", regex.MULTILINE
)
_BLANK_LINE = regex.compile(r"^\r?\n", regex.MULTILINE)
_DELIMITER = regex.compile(r"^--(?P<boundary>[^\r\n]++)\r?(?:\n|\Z)", regex.MULTILINE)
_CHARSET = regex.compile(r"\bcharset\*?\s*+=\s*+(?:\"[^\"]*+\"?|[^\s;]*+)", regex.IGNORECASE)
_WIDER = {
    "iso-8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp_ext",
    "iso-8859-6-i": "iso-8859-6",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
"""Charsets with those that programs mean by their names."""
_IN_UTF_8 = 'charset="utf-8"'
_TYPE, _ENCODING, _VERSION = "Content-Type", "Content-Transfer-Encoding", "MIME-Version"
_QUOTED, _BASE64, _EIGHT_BIT = "quoted-printable", "base64", ("8bit", "binary")
_LONGEST_LINE = 998


class MailPart:
    """A message, or a part of one. `fields`: where the values of its header fields stand; `message`
    has them without a body."""

    def __init__(self, source: str, span: Span, default_type: str) -> None:
        blank = _BLANK_LINE.search(source, *span)
        self._head_end, body = blank.span() if blank else (span.end, span.end)
        self.body = Span(body, span.end)
        self._source = source
        self.fields: dict[str, Span] = {}
        self.message = Message()
        self.message.set_default_type(default_type)
        for field in _FIELD.finditer(source, span.start, self._head_end):
            name, value, start = (
                field["name"].lower(),
                field["value"].rstrip(),
                field.start("value"),
            )
            if name not in self.fields:
                self.fields[name] = Span(start, start + len(value))
                self.message[name] = value
        self._charset = (self.message.get_content_charset() or "").strip("\"' ")
        self._encoding = str(self.message.get(_ENCODING, "7bit")).lower()

    @property
    def is_attached(self) -> bool:
        """Whether it is a file, not to be read with the message."""
        is_named = self.message.get_filename() is not None
        return is_named or self.message.get_content_disposition() == "attachment"

    def parts(self) -> Iterator[Span]:
        """What stands between the boundaries of the body; the last one may be missing."""
        boundary = (self.message.get_boundary() or "").rstrip()
        start = None
        for line in _DELIMITER.finditer(self._source, *self.body):
            found = line["boundary"].rstrip()
            if not boundary or found not in (boundary, f"{boundary}--"):
                continue
            if start is not None:
                inner = self._source[start : line.start()].removesuffix("\n").removesuffix("\r")
                yield Span(start, start + len(inner))
            if found != boundary:
                return
            start = line.end()
        if start is not None:
            yield Span(start, self.body.end)

    def text(self, language: str) -> str:
        """The body as it reads. Raises InvalidDocument."""
        self.message.set_payload(self._source[slice(*self.body)])
        content = self.message.get_payload(decode=True)
        return decoded(content if isinstance(content, bytes) else b"", self._charset, language)

    def edits(self, text: str, in_utf_8: Callable[[str], str] = str) -> Iterator[Edit]:
        """What gives the part another body. `in_utf_8`: of a text that its charset cannot spell."""
        is_wide = self._charset.startswith(("utf-16", "utf-32")) and self._encoding != _BASE64
        try:
            content = text.encode("utf-8" if is_wide else self._charset or "us-ascii")
        except (LookupError, ValueError):
            is_wide, content = True, in_utf_8(text).encode()
        if is_wide and _TYPE.lower() not in self.fields:
            yield from self._with(_VERSION, "1.0")
        if is_wide:
            yield from self._with(_TYPE, self._type_in_utf_8())
        encoding = self._encoding_of(content)
        if encoding != self._encoding:
            yield from self._with(_ENCODING, encoding)
        yield Edit(*self.body, self._transferred(content, encoding).decode("latin-1"))

    def _with(self, name: str, value: str) -> Iterator[Edit]:
        """A header field with another value, or one more."""
        if span := self.fields.get(name.lower()):
            yield Edit(*span, value)
        else:
            line = f"{name}: {value}{line_end(self._source)}"
            yield Edit(self._head_end, self._head_end, line)

    def _type_in_utf_8(self) -> str:
        span = self.fields.get(_TYPE.lower())
        written = self._source[slice(*span)] if span else self.message.get_content_type()
        changed, is_named = _CHARSET.subn(_IN_UTF_8, written, 1)
        return changed if is_named else f"{written.rstrip('; ')}; {_IN_UTF_8}"

    def _encoding_of(self, content: bytes) -> str:
        """The transfer encoding of the part, or one that any content can have."""
        if self._encoding in (_QUOTED, _BASE64):
            return self._encoding
        is_spelled = content.isascii() or self._encoding in _EIGHT_BIT
        is_short = max(map(len, content.split(b"\n"))) <= _LONGEST_LINE
        return self._encoding if is_spelled and is_short else _QUOTED

    def _transferred(self, content: bytes, encoding: str) -> bytes:
        end = line_end(self._source).encode()
        if encoding == _QUOTED:
            return binascii.b2a_qp(content.replace(b"\r\n", b"\n")).replace(b"\n", end)
        if encoding == _BASE64:
            body = self._source[slice(*self.body)]
            tail = body[len(body.rstrip()) :].encode("latin-1")
            return base64.encodebytes(content).rstrip().replace(b"\n", end) + tail
        return content


def decoded(content: bytes, charset: str, language: str) -> str:
    """A text in a charset, or if that is unknown in one that fits. Raises InvalidDocument."""
    is_known = False
    for name in (_WIDER.get(charset, charset), charset):
        try:
            text = content.decode(name)
            text.encode()
        except LookupError:
            continue
        except ValueError:
            is_known = True
        else:
            return text
    try:
        if not (is_known and content.isascii()):
            return decode(content, language).text
    except InvalidDocument:
        pass
    named = shown(charset) if charset else "none"
    raise InvalidDocument(f"a text of the message is not in the charset that it names: {named}")


def line_end(source: str) -> str:
    """How the lines of a message end."""
    return "\r\n" if source.find("\r\n", 0, source.find("\n") + 1) >= 0 else "\n"
