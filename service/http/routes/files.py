"""POST /translate_file and GET /download_file, in LibreTranslate's format."""

from __future__ import annotations

import posixpath
import re

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from service.commons.stored_file import StoredFile
from service.http.head import FORWARDED_PREFIX
from service.http.openapi import (
    WITH_ACCESS,
    WITH_BODY,
    WITH_ENGINE,
    Offer,
    describe_errors,
    describe_file,
    describe_upload,
)
from service.http.routers import described_router, with_heads
from service.http.state import server_state
from service.http.translating import until_disconnected
from service.http.uploads import (
    FileRequest,
    file_answer,
    read_upload,
    send_upload,
    sent_file,
)
from service.translation.job import AUTO

PATH = "/translate_file"
DOWNLOADS = "/download_file/"
_HOST = re.compile(r"[A-Za-z0-9._-]{1,255}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{1,64}){1,8}")


class FileLanguage(BaseModel):
    """The language of an uploaded file."""

    language: str


class FileAnswer(BaseModel):
    """Where the translation of an uploaded file is, and with "auto" its language."""

    translatedFileUrl: str
    detectedLanguage: FileLanguage | None = None


def make_router(offer: Offer) -> APIRouter:
    """Make the routes, whose descriptions name what the server offers."""
    router = described_router("Documents", *WITH_ACCESS)
    router.post(
        PATH,
        name="translate_file",
        response_model=FileAnswer,
        responses=describe_errors(404, *WITH_BODY, *WITH_ENGINE),
        openapi_extra=describe_upload(FileRequest, offer),
    )(translate_uploaded)
    found = {**describe_file("*/*"), **describe_errors(404)}
    router.get(
        DOWNLOADS + "{name}", name="download_file", response_class=Response, responses=found
    )(download)
    return with_heads(router)


async def translate_uploaded(request: Request) -> dict[str, object]:
    """Translate a file unless the client disconnects -> the address of its translation, and with
    "auto" its own language."""
    sent, asked = await _send(request)
    finished = server_state(request).documents.finished(sent)
    source = await until_disconnected(request, finished)
    suffix = posixpath.splitext(sent.download_name)[1]
    answer: dict[str, object] = {
        "translatedFileUrl": f"{_base_url(request)}{DOWNLOADS}{sent.name}{suffix}"
    }
    if asked.source == AUTO != source:
        answer["detectedLanguage"] = {"language": source}
    return answer


async def _send(request: Request) -> tuple[StoredFile, FileRequest]:
    """Accept the file of a form. What waits is on disk: nothing holds its content any more."""
    fields = await read_upload(request)
    file = sent_file(server_state(request).limits, fields)
    asked = fields.parse(request, FileRequest)
    wanted = asked.wanted()
    sent = await send_upload(request, file, wanted, replaces=asked.replace, is_awaited=True)
    return sent, asked


async def download(request: Request, name: str) -> Response:
    """A translated file, until it expires."""
    documents = server_state(request).documents
    file = await documents.find(name.partition(".")[0], request.state.caller.owner.id)
    return file_answer(file, await documents.translation(file), file.media_type)


def path_prefix(request: Request) -> str:
    """What stands before this server's paths: a proxy that removes it from them names it in
    X-Forwarded-Prefix, which our own server takes from trusted ones only."""
    forwarded = request.headers.get(FORWARDED_PREFIX.decode(), "").rstrip("/")
    own: str = request.scope.get("root_path", "").rstrip("/")
    return forwarded if _PREFIX.fullmatch(forwarded) else own


def _base_url(request: Request) -> str:
    """This server's address as the client wrote it; only the path if that is no host."""
    host, root = request.headers.get("host", ""), path_prefix(request)
    return f"{request.scope['scheme']}://{host}{root}" if _HOST.fullmatch(host) else root
