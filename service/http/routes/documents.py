"""Files as jobs: POST /documents, the job's state, its translation, and its end."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from service.commons.stored_file import FileState, StoredFile
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    Offer,
    describe_errors,
    describe_file,
    describe_upload,
)
from service.http.routers import described_router, with_heads
from service.http.state import server_state
from service.http.uploads import FileRequest, file_answer, read_upload, send_upload, sent_file

PATH = "/documents"
BELOW = PATH + "/"
_ONE = BELOW + "{document_id}"
_BYTES = "application/octet-stream"
"""The media type of every translation: one of JSON is a file, no answer of this API."""


class DocumentState(BaseModel):
    """A sent file. `seconds_remaining`: by the rate so far, null while it is unknown; `source`: the
    language of the file once it is translated, or one that no model has; `error` and `code`: why it
    failed."""

    id: str
    status: FileState
    name: str
    characters: int
    characters_done: int
    seconds_remaining: int | None = None
    source: str | None = None
    error: str | None = None
    code: str | None = None


def make_router(offer: Offer) -> APIRouter:
    """Make the routes, whose descriptions name what the server offers."""
    router = described_router("Documents", *WITH_ACCESS)
    missing = describe_errors(404)
    router.post(
        PATH,
        status_code=202,
        response_model=DocumentState,
        responses=describe_errors(404, *WITH_BODY),
        openapi_extra=describe_upload(FileRequest, offer),
    )(send_document)
    router.get(_ONE, response_model=DocumentState, responses=missing)(find_document)
    router.delete(_ONE, status_code=204, responses=missing)(remove_document)
    found = {**describe_file(_BYTES), **missing}
    router.get(_ONE + "/result", response_class=Response, responses=found)(download_document)
    return with_heads(router)


async def send_document(request: Request) -> DocumentState:
    """Accept a file, which is translated in its turn whether the client stays or not."""
    state = server_state(request)
    state.dispatcher.require_ready()
    fields = await read_upload(request)
    file = sent_file(state.limits, fields)
    asked = fields.parse(request, FileRequest)
    return _told(await send_upload(request, file, asked.wanted(), replaces=asked.replace))


async def find_document(request: Request, document_id: str) -> DocumentState:
    """What has become of a file."""
    return _told(await _find(request, document_id))


async def remove_document(request: Request, document_id: str) -> None:
    """Forget a file and its translation; one that is in work is cancelled."""
    file = await _find(request, document_id)
    server_state(request).documents.remove(file.name)


async def download_document(request: Request, document_id: str) -> Response:
    """The translation of a file, until it expires."""
    file = await _find(request, document_id)
    content = await server_state(request).documents.translation(file)
    return file_answer(file, content, _BYTES)


async def _find(request: Request, document_id: str) -> StoredFile:
    owner = request.state.caller.owner.id
    return await server_state(request).documents.find(document_id, owner)


def _told(file: StoredFile) -> DocumentState:
    code, message = file.error or (None, None)
    return DocumentState(
        id=file.name,
        status=file.state,
        name=file.download_name,
        characters=file.num_characters,
        characters_done=file.num_done,
        seconds_remaining=file.seconds_left(time.monotonic()),
        source=file.source or None,
        error=message,
        code=code,
    )
