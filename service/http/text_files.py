"""Translate an uploaded text file. Other formats of files are refused."""

from __future__ import annotations

from codecs import BOM_UTF8

from fastapi import Request

from service.errors import MissingField, UnsupportedFile, shown
from service.http.file_store import StoredFile
from service.http.request_body import decode_text
from service.http.request_fields import RequestFields
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.http.translations import translate_texts

FILE_SUFFIX = ".txt"


def sent_text(fields: RequestFields, given_name: str | None = None) -> str:
    """The text in the field `file`; `given_name` replaces the file's own name.

    Raises MissingField, UnsupportedFile or InvalidText.
    """
    file = fields.files.get("file")
    if file is None:
        raise MissingField("Invalid request: missing file parameter")
    name = given_name or file.name
    if not name.lower().endswith(FILE_SUFFIX):
        raise UnsupportedFile(f"the file must be {FILE_SUFFIX}, got {shown(name)}")
    return decode_text(file.content.removeprefix(BOM_UTF8), "file")


async def translate_file(request: Request, wanted: TranslateRequest) -> tuple[str, StoredFile]:
    """Translate one text and store it -> (the stored file's name, the file).

    Raises a ServiceError.
    """
    (translation,) = await translate_texts(request, wanted)
    files = server_state(request).files
    return files.add(translation.text.encode(), len(wanted.texts[0]))
