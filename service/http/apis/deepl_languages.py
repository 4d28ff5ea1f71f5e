"""DeepL's languages below /v2, and below /v3 those of each resource with what they can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from fastapi import Request

from service.errors import InvalidField, MissingField, shown
from service.http.deepl_codes import language_codes
from service.http.language_names import language_name
from service.http.request_fields import RequestModel
from service.http.requests import read_request
from service.http.routers import READ, foreign_router
from service.http.state import ServerState, server_state

LANGUAGES, LANGUAGES_3 = "/v2/languages", "/v3/languages"
RESOURCES = LANGUAGES_3 + "/resources"
_WITHOUT_LANGUAGES = ("voice", "write", "style_rules")
"""Resources that this server has not."""
router = foreign_router()


class _Feature(NamedTuple):
    """What a translation can do, and whether the target must be able to; the source must."""

    name: str
    is_of_target: bool = True

    def described(self) -> dict[str, Any]:
        target = {"needs_target_support": True} if self.is_of_target else {}
        return {"name": self.name, "needs_source_support": True, **target}


class LanguagesRequest(RequestModel):
    """Which languages are asked for."""

    type: Literal["source", "target"] = "source"


class ResourceRequest(RequestModel):
    """Of /v3/languages: what the languages are for; older clients call it a product."""

    resource: str | None = None
    product: str | None = None


@router.api_route(LANGUAGES, methods=[*READ, "POST"])
async def languages(request: Request) -> list[dict[str, Any]]:
    """The source languages, or with type=target the target languages."""
    state = server_state(request)
    asked = await read_request(request, LanguagesRequest)
    sources, targets = language_codes(state.dispatcher.routes)
    if asked.type == "source":
        return [{"language": code, "name": language_name(code)} for code in sources]
    return [
        {"language": code, "name": language_name(code), "supports_formality": False}
        for code in targets
    ]


@router.api_route(RESOURCES, methods=[*READ])
async def resources(request: Request) -> list[dict[str, Any]]:
    """What languages can be for, and the features of each."""
    found = _features(server_state(request))
    return [
        {"name": name, "features": [one.described() for one in features]}
        for name, features in found.items()
    ]


@router.api_route(LANGUAGES_3, methods=[*READ])
async def languages_3(request: Request) -> list[dict[str, Any]]:
    """All languages, each with what it can be used as. Style rules and others have none."""
    state = server_state(request)
    asked = await read_request(request, ResourceRequest)
    if not (resource := asked.resource or asked.product):
        raise MissingField("Invalid request: missing resource parameter")
    features = _features(state)
    if resource not in features:
        if resource in _WITHOUT_LANGUAGES:
            return []
        raise InvalidField(f"resource must be one of {', '.join(features)}, got {shown(resource)}")
    sources, targets = language_codes(state.dispatcher.routes)
    return [
        {
            "lang": code,
            "name": language_name(code),
            "status": "stable",
            "usable_as_source": code in sources,
            "usable_as_target": code in targets,
            "features": {
                one.name: {"status": "stable"}
                for one in features[resource]
                if one.is_of_target or code in sources
            },
        }
        for code in dict.fromkeys([*sources, *targets])
    ]


def _features(state: ServerState) -> dict[str, Sequence[_Feature]]:
    """The resources that this server has, and the features of each."""
    glossary = [_Feature("glossary")] if state.glossaries else []
    detection = _Feature("auto_detection", is_of_target=False)
    return {
        "translate_text": [_Feature("tag_handling"), *glossary, detection],
        "translate_document": [*glossary, detection],
        "glossary": [],
    }
