"""Read a request's body within bounds, and understand the three forms that it may come in."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic_core import from_json

from service.errors import (
    BodyTooLarge,
    ClientGone,
    InvalidJson,
    InvalidText,
    UnsupportedMediaType,
    printable,
    shown,
)
from service.schemas import TranslateRequest

JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
_T = TypeVar("_T")


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The whole body; raises BodyTooLarge before more than `max_bytes` are held."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise BodyTooLarge(f"the body has {announced[:20]} bytes, at most {max_bytes} are allowed")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise BodyTooLarge(f"the body has more than the {max_bytes} bytes that are allowed")
        chunks.append(chunk)
    return b"".join(chunks)


def media_type_of(request: Request) -> str:
    """One of JSON, FORM and PLAIN; raises UnsupportedMediaType."""
    given = request.headers.get("content-type", "")
    media_type = given.partition(";")[0].strip().lower()
    if media_type not in (JSON, FORM, PLAIN):
        raise UnsupportedMediaType(
            f"Content-Type must be {JSON}, {FORM} or {PLAIN}, got {shown(given)}"
        )
    return media_type


def parse_body(media_type: str, body: bytes, query: Mapping[str, str]) -> TranslateRequest:
    """The request in a body of this type; `query` has the fields that go with plain text.

    Raises InvalidJson, InvalidText or InvalidField.
    """
    if media_type == JSON:
        return TranslateRequest.from_json(_parse_json(body))
    text = _decode(body)
    if media_type == PLAIN:
        return TranslateRequest.from_strings({**query, "q": text})
    return TranslateRequest.from_strings(_parse_form(text))


async def until_disconnected(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work`; if the client hangs up first, cancel it and raise ClientGone."""
    task = asyncio.current_task()
    assert task is not None
    leaving = asyncio.ensure_future(_cancel_on_disconnect(task, request))
    try:
        return await work
    except asyncio.CancelledError:
        if leaving.done() and not task.uncancel():
            raise ClientGone("the client hung up") from None
        raise
    finally:
        leaving.cancel()


async def _cancel_on_disconnect(task: asyncio.Task[Any], request: Request) -> None:
    """A connection that cannot be listened to is lost as well."""
    with contextlib.suppress(Exception):
        while (await request.receive())["type"] != "http.disconnect":
            pass
    task.cancel()


def _parse_json(body: bytes) -> object:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidJson(f"the body is not valid JSON: {printable(str(error))}") from error


def _parse_form(text: str) -> dict[str, str | list[str]]:
    try:
        fields = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=10_000)
    except ValueError as error:
        raise InvalidText(f"the form is not valid: {error!s}") from error
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidText(f"the body is not UTF-8: byte {error.start} is wrong") from error
