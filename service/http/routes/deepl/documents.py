"""/v2/document: a file is translated while it is uploaded, and waits for its download."""

from __future__ import annotations

import posixpath
import secrets
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.errors import UnknownFile
from service.http.file_store import StoredFile
from service.http.request_fields import read_fields
from service.http.routes.deepl.fields import DocumentKey, DocumentRequest
from service.http.state import server_state
from service.http.uploads import read_upload, sent_file, translate_upload

PATH = "/v2/document"
router = APIRouter(include_in_schema=False)


@router.post(PATH)
async def upload(request: Request) -> dict[str, str]:
    """Translate a file -> the id and the key of its translation."""
    fields = await read_upload(request)
    asked = fields.parse(request, DocumentRequest, quiet=("file",))
    asked.require_offered()
    sent = sent_file(request, fields, asked.filename)
    asked.require_same_format(sent.name)
    name, file = await translate_upload(request, sent, asked.wanted())
    return {"document_id": name, "document_key": file.key}


@router.post(PATH + "/{document_id}")
async def status(document_id: str, request: Request) -> dict[str, Any]:
    """Always done: the upload is answered when the translation is."""
    file = await _find(document_id, request)
    return {
        "document_id": document_id,
        "status": "done",
        "seconds_remaining": 0,
        "billed_characters": file.num_characters,
    }


@router.post(PATH + "/{document_id}/result")
async def result(document_id: str, request: Request) -> Response:
    """The translation. As DeepL does, the server forgets it afterwards."""
    file = await _find(document_id, request)
    server_state(request).files.remove(document_id)
    suffix = posixpath.splitext(file.download_name)[1]
    headers = {"Content-Disposition": f'attachment; filename="translated{suffix}"'}
    return Response(file.content, headers=headers, media_type="application/octet-stream")


async def _find(document_id: str, request: Request) -> StoredFile:
    """The document, if the request has its key. Raises a ServiceError."""
    state = server_state(request)
    fields = await read_fields(request, state.limits)
    given = fields.parse(request, DocumentKey, quiet=("auth_key",)).document_key
    file = state.files.get(document_id, request.state.caller.owner.id)
    if not secrets.compare_digest(file.key.encode(), given.encode()):
        raise UnknownFile("there is no such file, or it has expired")
    return file
