"""POST /translate_file and GET /download_file, in LibreTranslate's format.

Both stand outside the OpenAPI document: what is accepted depends on the name of the uploaded file,
which a schema cannot describe.
"""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.http.request_body import MULTIPART
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.schemas import TranslateRequest
from service.http.state import StateDep, server_state
from service.http.text_files import FILE_SUFFIX, sent_text, translate_file

PATH = "/translate_file"
DOWNLOADS = "/download_file/"
_QUIET = ("api_key", "secret", "format")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,255}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")
router = APIRouter(include_in_schema=False)


class FileRequest(RequestModel):
    """The languages of an uploaded file."""

    source: str
    target: str


@router.post(PATH)
async def translate_uploaded(request: Request) -> dict[str, str]:
    """Translate a text file -> the address of its translation."""
    fields = await read_fields(request, server_state(request).limits, (MULTIPART,))
    text = sent_text(fields)
    wanted = fields.parse(request, FileRequest, _QUIET)
    given = {"q": text, "source": wanted.source, "target": wanted.target}
    name, _ = await translate_file(request, TranslateRequest.from_json(given))
    return {"translatedFileUrl": f"{_base_url(request)}{DOWNLOADS}{name}{FILE_SUFFIX}"}


@router.get(DOWNLOADS + "{name}")
@router.head(DOWNLOADS + "{name}")
async def download(name: str, state: StateDep) -> Response:
    """A translated file, until it expires."""
    file = state.files.get(name.removesuffix(FILE_SUFFIX))
    headers = {
        "Content-Disposition": f'attachment; filename="translated{FILE_SUFFIX}"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(file.content, headers=headers, media_type="text/plain")


def _base_url(request: Request) -> str:
    """This server's address as the client wrote it; only the path if that is no host."""
    host, root = request.headers.get("host", ""), request.scope.get("root_path", "")
    return f"{request.scope['scheme']}://{host}{root}" if _HOST.fullmatch(host) else root
