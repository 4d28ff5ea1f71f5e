"""Read a request body within limits, and parse JSON, forms and query strings."""

from __future__ import annotations

import asyncio
import contextlib
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, TypeVar

from fastapi import Request
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from service.errors import (
    BodyTooLarge,
    ClientGone,
    InvalidJson,
    InvalidText,
    UnsupportedMediaType,
    printable,
    shown,
)
from service.http.body_budget import BodyBudget
from service.http.json_values import count_values
from service.http.state import Limits

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
MULTIPART, NO_BODY = "multipart/form-data", ""
_IDENTITY = "identity"
_CHARSET = re.compile(r";\s*charset=\"?([^\s;\"]+)", re.IGNORECASE)
_UTF_8 = ("utf-8", "utf8", "us-ascii")
MAX_OTHER_FIELDS = 1000
_MAX_OTHER_VALUES = 10_000
_JUDGED_BYTES = 4096
_MAX_OTHER_ESCAPES, _MOST_UTF8_BYTES = 50_000, 4
_MAX_LONE_PERCENTS = 20_000
_PLUS_TO_SPACE = bytes.maketrans(b"+", b" ")
_LONE_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_T = TypeVar("_T")


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The whole body, never buffering over `max_bytes`. Raises BodyTooLarge or ClientGone."""
    return b"".join([chunk async for chunk in body_chunks(request, max_bytes)])


async def body_chunks(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """The body's chunks as they arrive.

    Raises BodyTooLarge, ClientGone, or Overloaded (too many bodies are being received).
    """
    size = 0
    budget: BodyBudget = request.app.state.server.bodies
    with budget.hold(_expected_bytes(request, max_bytes)):
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > max_bytes:
                    raise BodyTooLarge(
                        f"the body has more than the {max_bytes} bytes that are allowed"
                    )
                yield chunk
        except ClientDisconnect:
            raise ClientGone("the client disconnected while it sent the body") from None


def _expected_bytes(request: Request, max_bytes: int) -> int:
    """How large the body says that it is, or may be. Raises BodyTooLarge."""
    announced = request.headers.get("content-length", "")
    if not announced.isdecimal():
        return max_bytes if "transfer-encoding" in request.headers else 0
    if int(announced[:20]) > max_bytes:
        raise BodyTooLarge(f"the body has {announced[:20]} bytes, at most {max_bytes} are allowed")
    return int(announced)


def media_type_of(request: Request, allowed: Sequence[str]) -> str:
    """One of `allowed`, or NO_BODY without a body if the method is GET or has no Content-Type.

    Raises UnsupportedMediaType, also for a compressed body and another charset than UTF-8. JSON has
    no charset (RFC 8259).
    """
    given = request.headers.get("content-type", "")
    if (not given or request.method == "GET") and not _has_body(request):
        return NO_BODY
    coding = request.headers.get("content-encoding", _IDENTITY).strip()
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


def parse_json(
    body: bytes, limits: Limits, name: str = "body", max_values: int | None = None
) -> object:
    """Parse JSON; drop a byte order mark. Raises InvalidJson, or BodyTooLarge (too many values).

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
        raise InvalidJson(f"the {name} is not valid JSON: {printable(str(error))}") from error
    raise BodyTooLarge(f"the {name} has {num_values} JSON values, at most {max_values} are allowed")


def parse_form(form: bytes, limits: Limits) -> dict[str, str | list[str]]:
    """Parse a form or a query string; a repeated field becomes a list.

    Raises BodyTooLarge or InvalidText.
    """
    max_fields = MAX_OTHER_FIELDS + limits.max_texts
    num_fields = form.count(b"&") + 1
    if num_fields > max_fields:
        raise BodyTooLarge(f"the form has {num_fields} fields, at most {max_fields} are allowed")
    max_escapes = _MAX_OTHER_ESCAPES + _MOST_UTF8_BYTES * limits.max_characters
    num_escapes = form.count(b"%") + form.count(b"\\")
    if num_escapes > max_escapes:
        raise BodyTooLarge(
            f"the form has {num_escapes} bytes spelled with % and backslashes, "
            f"at most {max_escapes} are allowed"
        )
    fields: dict[str, list[str]] = {}
    for field in filter(None, form.split(b"&")):
        name, _, value = field.partition(b"=")
        fields.setdefault(_unquote(name), []).append(_unquote(value))
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def decode_text(text: bytes, name: str = "body") -> str:
    """Decode UTF-8. Raises InvalidText."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidText(f"the {name} is not UTF-8: byte {error.start} is wrong") from error


async def until_disconnected(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work`; if the client disconnects first, cancel it and raise ClientGone."""
    task = asyncio.current_task()
    assert task is not None
    leaving = asyncio.ensure_future(_cancel_on_disconnect(task, request))
    try:
        return await work
    except asyncio.CancelledError:
        if leaving.done() and not task.uncancel():
            raise ClientGone("the client disconnected") from None
        raise
    finally:
        leaving.cancel()


def _has_body(request: Request) -> bool:
    headers = request.headers
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


async def _cancel_on_disconnect(task: asyncio.Task[Any], request: Request) -> None:
    """Cancel `task` on disconnect; a failing `receive` counts as one."""
    with contextlib.suppress(Exception):
        while (await request.receive())["type"] != "http.disconnect":
            pass
    task.cancel()


def _unquote(text: bytes) -> str:
    """Same as urllib's unquote_plus, in a tenth of the time: 0.5 MB of %41 would block the event
    loop for 20 ms."""
    text = text.translate(_PLUS_TO_SPACE)
    return decode_text(_unquote_bytes(text) if b"%" in text else text, "form's field")


def _unquote_bytes(text: bytes) -> bytes:
    """Rewrite %NN as \\xNN, which Python decodes fast, and double the other backslashes."""
    escaped = text.replace(b"\\", rb"\\")
    escaped = _LONE_PERCENT.sub(rb"\\x25", escaped, _MAX_LONE_PERCENTS).replace(b"%", rb"\x")
    try:
        return escaped.decode("unicode_escape").encode("latin-1")
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"the form has more than {_MAX_LONE_PERCENTS} % without two hexadecimal digits after it"
        ) from error
