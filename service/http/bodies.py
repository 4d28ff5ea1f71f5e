"""Read a request's body within bounds, and parse JSON, forms, multipart forms and query strings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from fastapi import Request
from pydantic_core import from_json
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from service.errors import (
    BodyTooLarge,
    BodyTooSlow,
    ClientGone,
    InvalidJson,
    InvalidText,
    Overloaded,
    UnsupportedMediaType,
    printable,
    shown,
)
from service.http.head import HeaderValues, has_body
from service.http.json_values import count_values
from service.http.limits import RequestLimits

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
MULTIPART, NO_BODY = "multipart/form-data", ""
_HALF = re.compile(
    r"(\\(?<!\\\\)(?:\\\\)*+)(?:u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\)u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""The escape of one half of a character beyond 16 bits, without the other: clients cut texts. It
begins with a backslash, for which Python looks 100 times as fast as for what stands before one."""
_MOST_HALVES = 1000
"""That are read in a body: to look for them takes time."""
_IDENTITY = "identity"
_CHARSET = re.compile(r";\s*charset=\"?([^\s;\"]+)", re.IGNORECASE)
_UTF_8 = ("utf-8", "utf8", "us-ascii")
_MAX_OTHER_FIELDS, _MAX_OTHER_VALUES = 1000, 10_000
_MAX_OTHER_ESCAPES, _MOST_UTF8_BYTES = 50_000, 4
_JUDGED_BYTES = 4096
SECONDS_OF_A_BODY, _LEAST_BYTES_A_SECOND = 60.0, 800
"""In which a body comes, and more by its bytes: a client that is gone without a word would have its
room for ever. As slow as readers may be."""
_SLICE_BYTES = 64 * 1024
_MULTIPART_BOUNDS = {"MAX_HEADER_COUNT": 8, "MAX_HEADER_SIZE": 1024, "MAX_MEMORY_FILE_SIZE": 2**40}
"""No file of a form goes to the disk."""
_SILENT = logging.Logger(__name__, logging.CRITICAL + 1)
"""The parser would log a warning with bytes of the body."""
Strings = dict[str, str | list[str]]


class BodyBudget:
    """Bytes that all bodies which are being received may have together."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0

    @contextlib.contextmanager
    def hold(self, headers: HeaderValues, max_bytes: int) -> Iterator[None]:
        """Keep room, while a body is received, for the bytes that its headers say that it has, or
        may have. The only one always has room.

        Raises BodyTooLarge or Overloaded.
        """
        announced = headers.get(b"content-length", b"").decode("latin-1")
        num_bytes = max_bytes if b"transfer-encoding" in headers else 0
        if announced.isdecimal() and (num_bytes := int(announced[:20])) > max_bytes:
            raise BodyTooLarge(f"the body has {num_bytes} bytes, at most {max_bytes} are allowed")
        total = self._num_bytes + num_bytes
        if self._num_bytes and total > self._max_bytes:
            raise Overloaded(
                f"bodies of {self._num_bytes} bytes are being received; together they may have "
                f"{self._max_bytes}; try again later"
            )
        self._num_bytes = total
        try:
            yield
        finally:
            self._num_bytes -= num_bytes


@dataclass(frozen=True)
class SentFile:
    """An uploaded file, with the name that the client gave it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class MultipartForm:
    """The fields of a form, where a repeated field is a list, and its files by field."""

    fields: Strings = field(default_factory=dict)
    files: dict[str, SentFile] = field(default_factory=dict)


def media_type_of(request: Request, allowed: Collection[str]) -> str:
    """One of `allowed`, or NO_BODY without a body if the method is GET, or there is no Content-Type
    or a length, or by HTTP/1: by HTTP/2 a body without a length may still come.

    Raises UnsupportedMediaType, also for a compressed body and another charset than UTF-8. JSON has
    no charset (RFC 8259).
    """
    headers: HeaderValues = request.state.exchange.headers
    given = headers.get(b"content-type", b"").decode("latin-1")
    is_silent = not given or request.method == "GET" or b"content-length" in headers
    is_first = request.scope.get("http_version", "").startswith("1")
    if (is_silent or is_first) and not has_body(headers):
        return NO_BODY
    coding = headers.get(b"content-encoding", b"").decode("latin-1").strip()
    if coding.lower() not in ("", _IDENTITY):
        raise UnsupportedMediaType(f"Content-Encoding must be {_IDENTITY}, got {shown(coding)}")
    media_type = given.partition(";")[0].strip().lower()
    if media_type not in allowed:
        listed = " or ".join(", ".join(allowed).rsplit(", ", 1))
        raise UnsupportedMediaType(f"Content-Type must be {listed}, got {shown(given)}")
    charset = None if media_type == JSON else _CHARSET.search(given)
    if charset is not None and charset[1].lower() not in _UTF_8:
        raise UnsupportedMediaType(f"the body's charset must be utf-8, got {shown(charset[1])}")
    return media_type


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The whole body without a byte order mark, never buffering over `max_bytes`.

    Raises BodyTooLarge, BodyTooSlow, ClientGone, or Overloaded (too many bodies arrive).
    """
    chunks = list[bytes]()
    num_bytes, has_more, began = 0, True, asyncio.get_running_loop().time()
    with request.app.state.server.bodies.hold(request.state.exchange.headers, max_bytes):
        while has_more:
            chunk, has_more = await _receive(request, num_bytes, max_bytes, began)
            num_bytes += len(chunk)
            chunks.append(chunk)
    return b"".join(chunks).removeprefix(BOM_UTF8)


async def _receive(
    request: Request, num_bytes: int, max_bytes: int, began: float
) -> tuple[bytes, bool]:
    """The next chunk of a body after so many bytes, and whether more will come. `began`: when the
    body did, on the event loop's clock. Raises BodyTooLarge, BodyTooSlow or ClientGone."""
    seconds = SECONDS_OF_A_BODY + num_bytes / _LEAST_BYTES_A_SECOND
    try:
        async with asyncio.timeout_at(began + seconds):
            message = await request.receive()
    except TimeoutError:
        raise BodyTooSlow(
            f"{num_bytes} bytes of the body have come in {seconds:.0f} seconds; send it faster"
        ) from None
    if message["type"] == "http.disconnect":
        raise ClientGone("the client disconnected while it sent the body")
    chunk: bytes = message.get("body", b"")
    if num_bytes + len(chunk) > max_bytes:
        raise BodyTooLarge(f"the body has more than the {max_bytes} bytes that are allowed")
    return chunk, message.get("more_body", False)


def parse_json(
    body: bytes, limits: RequestLimits, name: str = "body", max_values: int | None = None
) -> object:
    """Parse JSON; drop a byte order mark, and read half a character as U+FFFD. Raises InvalidJson,
    or BodyTooLarge (too many values).

    Parsing 1 MB of small values would block the event loop for 100 ms. `max_values`: None for what
    a list of texts needs.
    """
    body = body.removeprefix(BOM_UTF8)
    if max_values is None:
        max_values = _MAX_OTHER_VALUES + limits.max_texts
    num_values = count_values(body, max_values)
    try:
        if num_values <= max_values:
            return from_json(body, allow_inf_nan=False)
        beginning = body[:_JUDGED_BYTES].decode("utf-8", "ignore")
        from_json(beginning, allow_inf_nan=False, allow_partial=True)
    except ValueError as error:
        text = body.decode("latin-1")
        whole = _HALF.sub(r"\1ufffd", text, _MOST_HALVES)
        if whole != text and not _HALF.search(whole):
            return parse_json(whole.encode("latin-1"), limits, name, max_values)
        raise InvalidJson(f"the {name} is not valid JSON: {printable(str(error))}") from error
    raise BodyTooLarge(f"the {name} has {num_values} JSON values, at most {max_values} are allowed")


def parse_form(form: bytes, limits: RequestLimits) -> Strings:
    """Parse a form or a query string; a repeated field becomes a list.

    Raises BodyTooLarge or InvalidText.
    """
    if not form:
        return {}
    max_fields = _MAX_OTHER_FIELDS + limits.max_texts
    num_fields = form.count(b"&") + 1
    if num_fields > max_fields:
        raise BodyTooLarge(f"the form has {num_fields} fields, at most {max_fields} are allowed")
    max_escapes = _MAX_OTHER_ESCAPES + _MOST_UTF8_BYTES * limits.max_characters
    num_escapes = form.count(b"%")
    if num_escapes > max_escapes:
        raise BodyTooLarge(
            f"the form has {num_escapes} bytes spelled with %, at most {max_escapes} are allowed"
        )
    fields: dict[str, list[str]] = {}
    for one in filter(None, form.replace(b"+", b" ").split(b"&")):
        name, value = (unquote_to_bytes(part) for part in one.partition(b"=")[::2])
        fields.setdefault(_decode_field(name), []).append(_decode_field(value))
    return _flattened(fields)


def _flattened(fields: dict[str, list[str]]) -> Strings:
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def decode_text(text: bytes, name: str = "body") -> str:
    """Decode UTF-8. Raises InvalidText."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidText(f"the {name} is not UTF-8: byte {error.start} is wrong") from error


def _decode_field(text: bytes) -> str:
    return decode_text(text, "form's field")


async def read_multipart(request: Request, limits: RequestLimits, max_bytes: int) -> MultipartForm:
    """Read and parse the body, a slice at a time, so that the event loop stays free.

    Raises BodyTooLarge, BodyTooSlow, InvalidText or ClientGone.
    """
    form = _FormReader(limits.max_texts + _MAX_OTHER_FIELDS)
    num_bytes, has_more, began = 0, True, asyncio.get_running_loop().time()
    budget, headers = request.app.state.server.bodies, request.state.exchange.headers
    try:
        with _parser(headers, form) as parser, budget.hold(headers, max_bytes):
            while has_more:
                chunk, has_more = await _receive(request, num_bytes, max_bytes, began)
                num_bytes += len(chunk)
                for start in range(0, len(chunk), _SLICE_BYTES):
                    parser.write(chunk[start : start + _SLICE_BYTES])
                    await asyncio.sleep(0)
    except FormParserError as error:
        raise InvalidText(f"the form cannot be parsed: {printable(str(error))}") from error
    if num_bytes and not form.is_complete:
        raise InvalidText("the form ends before its last boundary")
    return MultipartForm(_flattened(form.fields), form.files)


@contextlib.contextmanager
def _parser(headers: HeaderValues, form: _FormReader) -> Iterator[FormParser]:
    """After the block it refers to nothing: it would keep the form's files, and itself, until
    garbage is collected. Raises InvalidText or FormParserError."""
    boundary = parse_options_header(headers[b"content-type"])[1].get(b"boundary")
    if not boundary:
        raise InvalidText("the Content-Type of a multipart form must name its boundary")
    callbacks = (form.add_field, form.add_file, form.end)
    parser = FormParser(MULTIPART, *callbacks, boundary, config=_MULTIPART_BOUNDS)
    assert parser.parser is not None
    parser.logger = parser.parser.logger = _SILENT
    try:
        yield parser
    finally:
        parser.parser.callbacks = {}


class _FormReader:
    """Collects the fields and files of a form. Raises BodyTooLarge or InvalidText."""

    def __init__(self, max_parts: int) -> None:
        self._max_parts, self._num_parts = max_parts, 0
        self.fields: dict[str, list[str]] = {}
        self.files: dict[str, SentFile] = {}
        self.is_complete = False

    def add_field(self, part: Field) -> None:
        self._count_part()
        name = _decode_field(part.field_name or b"")
        self.fields.setdefault(name, []).append(_decode_field(part.value or b""))

    def add_file(self, part: File) -> None:
        self._count_part()
        name = _decode_field(part.field_name or b"")
        if name in self.files:
            raise InvalidText(f"the form has two files named {shown(name)}")
        file_name = decode_text(part.file_name or b"", "file's name")
        part.file_object.seek(0)
        self.files[name] = SentFile(file_name, part.file_object.read())

    def end(self) -> None:
        self.is_complete = True

    def _count_part(self) -> None:
        self._num_parts += 1
        if self._num_parts > self._max_parts:
            raise BodyTooLarge(f"the form has more than the {self._max_parts} fields allowed")
