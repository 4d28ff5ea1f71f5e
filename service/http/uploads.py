"""Files that clients send, and the answers that are files."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import posixpath
import re
from collections.abc import AsyncGenerator, Mapping
from typing import BinaryIO
from urllib.parse import quote

from fastapi import Request
from pydantic import Field
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.commons.stored_file import StoredFile
from service.documents.file_translator import FileJob
from service.documents.formats import format_of
from service.engine.ticket import Ticket
from service.errors import DocumentTooLarge, MissingField
from service.http.bodies import MULTIPART, SentFile
from service.http.document_jobs import SentJob
from service.http.limits import RequestLimits
from service.http.request_fields import RequestModel
from service.http.requests import RequestFields, read_fields
from service.http.state import server_state
from service.http.translate_request import TranslateRequest

_FORM_BYTES = 65_536
"""The bytes that a form may have beside its file."""
_PART_BYTES = 65_536
_PLAIN_NAME = re.compile(r"[A-Za-z0-9 ._()-]+")


class FileRequest(RequestModel):
    """The languages of an uploaded file, and options of its translation."""

    unreported = ("file", "secret", "format")

    source: str = Field(description='Language code of the text, or "auto" to detect it.')
    target: str = Field(description="Language code to translate into.")
    replace: bool = Field(
        False, description="Also translate what PO, XLIFF and TS files have a translation of."
    )
    keep: str | list[str] | None = Field(
        None, description="Strings that must stay as they are, as of /translate."
    )
    glossary: str | None = Field(
        None, description="Terms as JSON, or the name of a stored glossary, as of /translate."
    )

    def wanted(self) -> TranslateRequest:
        """The same as a translation request without texts. Raises InvalidField."""
        given = self.model_dump(include={"source", "target", "keep", "glossary"})
        return TranslateRequest.validated({"q": "", **given})


async def read_upload(request: Request) -> RequestFields:
    """The fields of a multipart form whose file may be larger than other bodies."""
    limits = server_state(request).limits
    most = max(limits.max_body_bytes, limits.max_document_bytes + _FORM_BYTES)
    return await read_fields(request, (MULTIPART,), most)


def sent_file(
    limits: RequestLimits, fields: RequestFields, given_name: str | None = None
) -> SentFile:
    """The file in the field `file`; `given_name` replaces its own name.

    Raises MissingField, UnsupportedFile or DocumentTooLarge.
    """
    file = fields.files.get("file")
    if file is None:
        is_text = fields.strings is not None and "file" in fields.strings
        told = "file must be a file, got a text field; curl sends one by -F file=@NAME"
        raise MissingField(f"Invalid request: {told if is_text else 'missing file parameter'}")
    file = SentFile(given_name or file.name, file.content)
    format_of(file.name)
    most = limits.max_document_bytes
    if len(file.content) > most:
        raise DocumentTooLarge(
            f"the file has {len(file.content)} bytes, at most {most} are allowed"
        )
    return file


async def send_upload(
    request: Request,
    file: SentFile,
    wanted: TranslateRequest,
    *,
    replaces: bool = False,
    is_awaited: bool = False,
    other_than: str | None = None,
) -> StoredFile:
    """Accept a file, which is translated whether the client stays or not; with `is_awaited` for the
    request, which waits for it (`DocumentJobs.finished`), within its deadline.

    `wanted`: languages and options, without texts; `other_than`: as of a `SentJob`. The caller is
    charged for the texts of the file. Raises a ServiceError.
    """
    state, caller = server_state(request), request.state.caller
    job = await state.admit(caller, wanted, num_characters=0)
    if not is_awaited:
        ticket = Ticket.issued(caller.client.name, state.limits.documents_seconds)
        job = dataclasses.replace(job, ticket=ticket.admitted())
    work = FileJob(file.name, file.content, job, replaces)
    request_id = request.state.record.request_id
    sent = SentJob(work, caller.for_job(), request_id, is_awaited, other_than)
    return await state.documents.submit(sent)


class FileStream(StreamingResponse):
    """An open file, which is read only as fast as its client takes it, and closed at the end."""

    def __init__(self, content: BinaryIO, headers: Mapping[str, str], media_type: str) -> None:
        num_bytes = os.fstat(content.fileno()).st_size
        headers = {**headers, "Content-Length": str(num_bytes)}
        super().__init__(_parts(content, num_bytes), headers=headers, media_type=media_type)
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._content:
            await super().__call__(scope, receive, send)


async def _parts(content: BinaryIO, num_bytes: int) -> AsyncGenerator[bytes]:
    for _ in range(0, num_bytes, _PART_BYTES):
        yield await asyncio.to_thread(content.read, _PART_BYTES)


def file_answer(file: StoredFile, content: BinaryIO, media_type: str) -> FileStream:
    """The translation of a file, which no browser shows as a page of this server."""
    headers = {
        "Content-Disposition": _disposition(file),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "no-store",
    }
    return FileStream(content, headers, media_type)


def _disposition(file: StoredFile) -> str:
    """The name as it is if that is safe, else as RFC 6266 spells it."""
    if _PLAIN_NAME.fullmatch(file.download_name):
        return f'attachment; filename="{file.download_name}"'
    suffix = posixpath.splitext(file.download_name)[1]
    spelled = quote(file.download_name, safe="")
    return f"attachment; filename=\"translated{suffix}\"; filename*=UTF-8''{spelled}"
