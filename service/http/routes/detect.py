"""POST /detect, in LibreTranslate's format."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from service.http.answer_details import DetectedLanguage
from service.http.openapi import describe_errors
from service.http.preferred_languages import PreferredLanguages, listed
from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.state import check_length, server_state

PATH = "/detect"
_EXAMPLE = {"q": "Wie geht es dir?"}
_KEYS = ("api_key", "secret")


class DetectRequest(RequestModel):
    """The text whose language is asked for."""

    q: str
    preferred_languages: PreferredLanguages = None


def make_router(max_characters: int) -> APIRouter:
    """Make the route; `max_characters` is the limit that its description names."""
    router = APIRouter()
    router.add_api_route(
        PATH,
        detect,
        methods=["POST"],
        response_model=list[DetectedLanguage],
        responses=describe_errors(400, 413, 415, 422),
        openapi_extra=_describe(max_characters),
    )
    return router


async def detect(request: Request) -> list[DetectedLanguage]:
    """The likeliest of the server's languages, in a list of one.

    The text is sent as JSON, as a form, or in the query.
    """
    state = server_state(request)
    fields = await read_fields(request, state.limits)
    wanted = fields.parse(request, DetectRequest, quiet=_KEYS)
    check_length("q", [wanted.q], state.limits)
    (found,) = await state.dispatcher.detect(
        [wanted.q], preferred=listed(wanted.preferred_languages)
    )
    return [DetectedLanguage(language=found.language, confidence=found.confidence)]


def _describe(max_characters: int) -> dict[str, Any]:
    text = {"type": "string", "maxLength": max_characters, "description": "A text."}
    codes = DetectRequest.model_json_schema()["properties"]["preferred_languages"]
    properties = {"q": text, "preferred_languages": codes}
    schema = {"type": "object", "required": ["q"], "properties": properties}
    content = {kind: {"schema": schema, "example": _EXAMPLE} for kind in (JSON, FORM)}
    return {"requestBody": {"required": True, "content": content}}
