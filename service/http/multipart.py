"""Parse multipart/form-data as it arrives, within bounds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastapi import Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from service.errors import BodyTooLarge, InvalidText, printable, shown
from service.http.request_body import MAX_OTHER_FIELDS, body_chunks, decode_text
from service.http.state import Limits

_SLICE_BYTES = 8 * 1024
_MAX_PART_HEADERS, _MAX_HEADER_BYTES = 8, 1024
_SILENT = logging.Logger(__name__, logging.CRITICAL + 1)
"""The parser would log a warning with bytes of the body."""


@dataclass(frozen=True)
class SentFile:
    """An uploaded file, with the name that the client gave it."""

    name: str
    content: bytes


@dataclass(frozen=True)
class MultipartForm:
    """The fields of a form, where a repeated field is a list, and its files by field."""

    fields: dict[str, str | list[str]] = field(default_factory=dict)
    files: dict[str, SentFile] = field(default_factory=dict)


async def read_multipart(request: Request, limits: Limits, max_bytes: int) -> MultipartForm:
    """Read and parse the body, a slice at a time, so that the event loop stays free.

    Raises BodyTooLarge, InvalidText or ClientGone.
    """
    form = _Form(limits.max_texts + MAX_OTHER_FIELDS)
    num_bytes = 0
    try:
        parser = _make_parser(request, form)
        async for chunk in body_chunks(request, max_bytes):
            num_bytes += len(chunk)
            for piece in _slices(chunk):
                parser.write(piece)
                await asyncio.sleep(0)
    except FormParserError as error:
        raise InvalidText(f"the form cannot be parsed: {printable(str(error))}") from error
    if num_bytes and not form.is_complete:
        raise InvalidText("the form ends before its last boundary")
    return form.result()


def _slices(chunk: bytes) -> Iterator[bytes]:
    return (chunk[start : start + _SLICE_BYTES] for start in range(0, len(chunk), _SLICE_BYTES))


def _make_parser(request: Request, form: _Form) -> MultipartParser:
    """Raises InvalidText or FormParserError."""
    options = parse_options_header(request.headers.get("content-type", ""))[1]
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise InvalidText("the Content-Type of a multipart form must name its boundary")
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": form.begin_part,
            "on_header_begin": form.begin_header,
            "on_header_field": form.add_header_name,
            "on_header_value": form.add_header_value,
            "on_header_end": form.end_header,
            "on_headers_finished": form.end_headers,
            "on_part_data": form.add_data,
            "on_part_end": form.end_part,
            "on_end": form.end,
        },
        max_header_count=_MAX_PART_HEADERS,
        max_header_size=_MAX_HEADER_BYTES,
    )
    parser.logger = _SILENT
    return parser


class _Form:
    """Collects the parser's events. Raises BodyTooLarge or InvalidText."""

    def __init__(self, max_parts: int) -> None:
        self._max_parts, self._num_parts = max_parts, 0
        self._header_name = self._header_value = b""
        self._disposition: dict[bytes, bytes] = {}
        self._data: list[bytes] = []
        self._fields: dict[str, list[str]] = {}
        self._files: dict[str, SentFile] = {}
        self.is_complete = False

    def begin_part(self) -> None:
        self._num_parts += 1
        if self._num_parts > self._max_parts:
            raise BodyTooLarge(f"the form has more than the {self._max_parts} fields allowed")
        self._disposition, self._data = {}, []

    def begin_header(self) -> None:
        self._header_name = self._header_value = b""

    def add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = parse_options_header(self._header_value)[1]

    def end_headers(self) -> None:
        if b"name" not in self._disposition:
            raise InvalidText("a part of the form has no Content-Disposition with a name")

    def add_data(self, data: bytes, start: int, end: int) -> None:
        self._data.append(data[start:end])

    def end_part(self) -> None:
        name = decode_text(self._disposition[b"name"], "form's field")
        content = b"".join(self._data)
        if (file_name := self._disposition.get(b"filename")) is not None:
            if name in self._files:
                raise InvalidText(f"the form has two files named {shown(name)}")
            self._files[name] = SentFile(decode_text(file_name, "file's name"), content)
        else:
            self._fields.setdefault(name, []).append(decode_text(content, "form's field"))

    def end(self) -> None:
        self.is_complete = True

    def result(self) -> MultipartForm:
        fields = {n: v[0] if len(v) == 1 else v for n, v in self._fields.items()}
        return MultipartForm(fields, self._files)
