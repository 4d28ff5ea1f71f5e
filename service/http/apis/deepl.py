"""DeepL's API below /v2: texts, usage and documents.

All but documents stands outside the OpenAPI document: its shapes are DeepL's, and docs/deepl.md
describes what becomes of each field.
"""

from __future__ import annotations

import functools
import posixpath
import secrets
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from service.commons.stored_file import StoredFile
from service.documents.formats import format_of
from service.errors import (
    InvalidField,
    MissingField,
    NotOffered,
    UnknownFile,
    UnsupportedLanguage,
    shown,
)
from service.http.bodies import FORM, JSON
from service.http.deepl_codes import language_codes
from service.http.ignored_tags import IgnoredTags, parse_tags
from service.http.openapi import (
    Offer,
    Schema,
    describe_body,
    describe_errors,
    describe_file,
    describe_upload,
)
from service.http.request_fields import LanguageCode, RequestModel, Texts, listed
from service.http.requests import read_request
from service.http.routers import READ, described_router, foreign_router
from service.http.state import ServerState, server_state
from service.http.translate_request import TranslateRequest
from service.http.translating import translate_texts
from service.http.uploads import FileStream, read_upload, send_upload, sent_file
from service.translation.job import AUTO, SplitSentences
from service.translation.results import TranslationResult
from service.translation.routing import shown_nearest
from service.translation.text_work import num_characters, text_work

TRANSLATE, USAGE, DOCUMENT = "/v2/translate", "/v2/usage", "/v2/document"
_REFUSED = ("style_id", "custom_instructions", "glossary_ids", "translation_memory_id")
"""Fields without which the answer would not be what is asked for."""
_WITHOUT_EFFECT = {"context", "outline_detection", "splitting_tags", "non_splitting_tags"}
_SPLIT: dict[str, SplitSentences] = {"0": False, "1": True, "nonewlines": "nonewlines"}
_LATENCY, _QUALITY = "latency_optimized", "quality_optimized"
_MOST_CHARACTERS = 10**12
"""DeepL's own limit of accounts without a limit."""
_DOCUMENT = DOCUMENT + "/{document_id}"
_ERROR: Schema = {"type": "object", "required": ["message"],
                  "properties": {"message": {"type": "string"}}}  # fmt: skip
router = foreign_router()


def _flag(value: object) -> object:
    """Forms and older clients write flags as 1 and 0."""
    return bool(value) if value in (0, 1) else value


def _spelled(value: object) -> object:
    """Clients write the digits of split_sentences as a number, a flag or a string."""
    return str(int(value)) if isinstance(value, int) and value in (0, 1) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Flag = Annotated[bool, BeforeValidator(_flag)]


class DeepLRequest(RequestModel):
    """What translating texts and documents has in common."""

    target_lang: LanguageCode
    source_lang: LanguageCode | None = None
    formality: Annotated[
        Literal["default", "prefer_more", "prefer_less", "more", "less"], BeforeValidator(_lower)
    ] = "default"
    glossary_id: str | None = None
    style_id: Any = None
    custom_instructions: Any = None
    glossary_ids: Any = None
    translation_memory_id: Any = None
    auth_key: str | None = None

    def require_offered(self) -> None:
        """Raises NotOffered or InvalidField if the answer would not be what is asked for."""
        if self.formality in ("more", "less"):
            raise NotOffered(
                f"Target language {shown(self.target_lang)} does not support formality "
                f"{self.formality}; prefer_{self.formality} is accepted and has no effect"
            )
        if named := [name for name in _REFUSED if getattr(self, name)]:
            raise NotOffered(f"{named[0]} is not supported")
        if self.glossary_id and self.source_lang is None:
            raise InvalidField("source_lang must be given with glossary_id")

    def require_languages(self, state: ServerState) -> None:
        """Raises UnsupportedLanguage, which lists the codes that DeepL's clients take."""
        given = {"target": self.target_lang}
        if self.source_lang is not None and self.source != AUTO:
            given["source"] = self.source_lang
        for field, code in given.items():
            try:
                state.dispatcher.known_language(field, code)
            except UnsupportedLanguage:
                codes = language_codes(state.dispatcher.routes)[field == "target"]
                supported = shown_nearest(code.upper(), codes, "GET /v2/languages")
                raise UnsupportedLanguage(
                    f"{field} language {shown(code)} is not supported; supported: {supported}", code
                ) from None

    def wanted(self, q: str | list[str], options: dict[str, object]) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        target, glossary = self.target_lang, self.glossary_id
        given = {"q": q, "source": self.source, "target": target, "glossary": glossary}
        return TranslateRequest.validated(given | options)

    @property
    def source(self) -> str:
        return (self.source_lang or AUTO).lower()


class TextRequest(DeepLRequest):
    """The fields of POST /v2/translate. DeepLX's has a key in the query."""

    unreported = ("token",)

    text: Texts
    context: str | None = None
    split_sentences: Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(_spelled)] = "1"
    preserve_formatting: Flag = False
    tag_handling: Literal["xml", "html"] | None = None
    ignore_tags: Texts = ""
    splitting_tags: Texts = ""
    non_splitting_tags: Texts = ""
    outline_detection: Flag = True
    model_type: (
        Literal["latency_optimized", "quality_optimized", "prefer_quality_optimized"] | None
    ) = None
    show_billed_characters: Flag = False

    @property
    def texts(self) -> list[str]:
        return listed(self.text)

    @property
    def model_type_used(self) -> str | None:
        """None unless a type was asked for."""
        if self.model_type is None:
            return None
        return _LATENCY if self.model_type == _LATENCY else _QUALITY

    def without_effect(self) -> list[str]:
        return sorted(self.model_fields_set & _WITHOUT_EFFECT)

    def require_offered(self) -> None:
        super().require_offered()
        if not self.texts:
            raise MissingField("Parameter 'text' not specified.")
        if self.tag_handling is None and (
            self.ignore_tags or self.splitting_tags or self.non_splitting_tags
        ):
            raise InvalidField(
                "ignore_tags, splitting_tags and non_splitting_tags need tag_handling"
            )

    @functools.cached_property
    def ignored_tags(self) -> IgnoredTags:
        """Raises InvalidField."""
        is_html = self.tag_handling == "html"
        return IgnoredTags(parse_tags(self.ignore_tags), is_html=is_html)

    def wanted_texts(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        options: dict[str, object] = {
            "format": "html" if self.tag_handling else "text",
            "split_sentences": _SPLIT[self.split_sentences],
            "beam_size": 1 if self.model_type == _LATENCY else None,
        }
        return self.wanted([self.ignored_tags.mark(text) for text in self.texts], options)


class DocumentRequest(DeepLRequest):
    """The fields of POST /v2/document beside its file."""

    unreported = ("file",)

    filename: str | None = None
    output_format: str | None = None

    def require_same_format(self, name: str) -> None:
        """Raises NotOffered if a file of this name does not give the format that is asked for."""
        given = format_of(name).suffix.removeprefix(".")
        own = name.rpartition(".")[2].lower()
        if (self.output_format or own).lower() != given:
            raise NotOffered(f"output_format must be {given} for a .{own} file")


class DocumentKey(RequestModel):
    """The secret that belongs to a document."""

    document_key: str


@router.api_route(TRANSLATE, methods=[*READ, "POST"])
async def translate(request: Request) -> dict[str, Any]:
    """Translate texts that are sent as JSON, as a form or in the query."""
    asked = await read_request(request, TextRequest, (JSON, FORM))
    asked.require_offered()
    state = server_state(request)
    asked.require_languages(state)
    state.limits.check_texts("text", asked.texts)
    wanted = await text_work(num_characters(asked.texts), asked.wanted_texts)
    num_charged = sum(map(len, asked.texts))  # without the marks of ignored tags
    translations = await translate_texts(request, wanted, num_charged)

    def rendered() -> list[dict[str, Any]]:
        return [_rendered(asked, *one) for one in enumerate(translations)]

    size = num_characters(one.text for one in translations)
    return {"translations": await text_work(size, rendered)}


def _rendered(asked: TextRequest, index: int, translation: TranslationResult) -> dict[str, Any]:
    found = translation.detection
    code = found.language if found else asked.source
    rendered: dict[str, Any] = {
        "detected_source_language": code.replace("_", "-").partition("-")[0].upper(),
        "text": asked.ignored_tags.unmark(translation.text),
    }
    if asked.show_billed_characters:
        rendered["billed_characters"] = len(asked.texts[index])
    if asked.model_type_used:
        rendered["model_type_used"] = asked.model_type_used
    return rendered


@router.api_route(USAGE, methods=[*READ])
async def usage(request: Request) -> dict[str, int]:
    """The usage of the caller's key this month, and its quota."""
    caller = request.state.caller
    return {
        "character_count": (await caller.used()).characters,
        "character_limit": caller.quota or _MOST_CHARACTERS,
    }


def make_document_router(offer: Offer) -> APIRouter:
    """Make the routes of documents, whose descriptions name what the server offers."""
    router = described_router("Documents of DeepL", 400, 403, 404, 413, 415, 429, error=_ERROR)
    errors = describe_errors(429, schema=_ERROR)
    router.post(
        DOCUMENT,
        responses={456: {**errors[429], "description": "The key's quota is used up."}},
        openapi_extra=describe_upload(DocumentRequest, offer, (*_REFUSED, "auth_key")),
    )(upload_document)
    key = describe_body(DocumentKey, offer, {"document_key": "0123456789ABCDEF"})
    router.post(_DOCUMENT, openapi_extra=key)(document_status)
    found = describe_file("application/octet-stream")
    result = _DOCUMENT + "/result"
    router.post(result, response_class=Response, responses=found, openapi_extra=key)(
        document_result
    )
    return router


async def upload_document(request: Request) -> dict[str, str]:
    """Accept a file -> the id and the key of the document, which is translated in its turn."""
    state = server_state(request)
    state.dispatcher.require_ready()
    fields = await read_upload(request)
    asked = fields.parse(request, DocumentRequest)
    asked.require_offered()
    asked.require_languages(state)
    target = state.dispatcher.known_language("target", asked.target_lang)
    if asked.source != AUTO and state.dispatcher.known_language("source", asked.source) == target:
        raise InvalidField("Source and target language are equal")
    sent = sent_file(state.limits, fields, asked.filename)
    asked.require_same_format(sent.name)
    file = await send_upload(request, sent, asked.wanted("", {}), other_than=target)
    return {"document_id": file.name, "document_key": file.key}


async def document_status(request: Request, document_id: str) -> dict[str, Any]:
    """queued, translating, done or error; while it is translated the seconds that are left by the
    rate so far, then the characters, or a message."""
    file = await _find_document(request, document_id)
    told = {"document_id": document_id, "status": file.state}
    if file.error is not None:
        return {**told, "error_message": file.error[1]}
    if file.state == "done":
        return {**told, "seconds_remaining": 0, "billed_characters": file.num_characters}
    seconds = file.seconds_left(time.monotonic())
    return told if seconds is None else {**told, "seconds_remaining": seconds}


async def document_result(request: Request, document_id: str) -> Response:
    """The translation. As DeepL does, the server forgets it afterwards."""
    file = await _find_document(request, document_id)
    documents = server_state(request).documents
    content = await documents.translation(file)
    documents.remove(document_id)
    suffix = posixpath.splitext(file.download_name)[1]
    headers = {"Content-Disposition": f'attachment; filename="translated{suffix}"'}
    return FileStream(content, headers, "application/octet-stream")


async def _find_document(request: Request, document_id: str) -> StoredFile:
    """The document, if the request has its key. Raises a ServiceError."""
    given = await read_request(request, DocumentKey)
    owner = request.state.caller.owner.id
    file = await server_state(request).documents.find(document_id, owner)
    if not secrets.compare_digest(file.key.encode(), given.document_key.encode()):
        raise UnknownFile("there is no such file, or it has expired")
    return file
