"""All routes of the server, the metrics' names of their paths, and which of them need an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from service.http.access.middleware import AccessPaths
from service.http.middleware import Endpoints
from service.http.openapi import (
    ANYWHERE,
    WITH_ACCESS,
    WITH_ENGINE,
    describe_errors,
    describe_keys,
    describe_translate,
)
from service.http.routes import (
    api_reference,
    deeplx,
    detect,
    files,
    frontend,
    glossaries,
    health,
    immersive,
    languages,
    metrics,
    next_words,
    page,
    suggest,
    translate,
    websocket,
)
from service.http.routes.deepl import documents
from service.http.routes.deepl import glossaries as deepl_glossaries
from service.http.routes.deepl import languages as deepl_languages
from service.http.routes.deepl import translate as deepl_translate
from service.http.routes.google import routes as google
from service.http.state import ServerState, direct_pairs

_WORK = frozenset(
    {
        *(translate.PATH, next_words.PATH, files.PATH, deepl_translate.PATH, documents.PATH),
        *(google.PATH, deeplx.PATH, immersive.PATH),
    }
)
ENDPOINTS = Endpoints(
    paths=_WORK
    | {
        *("/detect", "/languages", "/frontend/settings", "/spec", "/suggest", glossaries.PATH),
        *("/v2/languages", "/v2/usage", deepl_glossaries.PATH, deepl_glossaries.PAIRS),
        *(google.DETECT, google.LANGUAGES),
        *("/health", "/health/live", "/health/ready", "/metrics", "/openapi.json"),
        *(api_reference.PATH, page.ROOT),
    },
    prefixes=(
        *(page.FOLDER, api_reference.FOLDER, files.DOWNLOADS, documents.PATH + "/"),
        *(glossaries.PATH + "/", deepl_glossaries.PATH + "/"),
    ),
    work=_WORK,
)
ACCESS_PATHS = AccessPaths(
    open=frozenset(
        {
            *("/languages", "/frontend/settings", "/spec", "/openapi.json"),
            *("/health", "/health/live", "/health/ready", "/metrics"),
            *(api_reference.PATH, page.ROOT),
        }
    ),
    open_prefixes=(page.FOLDER, api_reference.FOLDER),
    key_in_body=_WORK | {"/detect", "/suggest", google.DETECT, google.LANGUAGES},
    key_in_body_prefixes=(documents.PATH + "/",),
)
"""All other paths need a key if one is required, also those that do not exist."""
OPEN_TO_PAGES = replace(ACCESS_PATHS, open_prefixes=(*ACCESS_PATHS.open_prefixes, files.DOWNLOADS))
"""The paths that pages of other origins may ask for. A download's link is opened from chats and
from pages that show it; its name is a secret, and a key may stand in its query."""
_ROUTERS = (
    *(websocket.router, files.router, immersive.router, deeplx.router),
    *(deepl_translate.router, deepl_languages.router, deepl_glossaries.router),
    *(documents.router, google.router),
)
"""The routes that stand outside the OpenAPI document: of other APIs, and the websocket."""


class DescribedApp(FastAPI):
    """An app whose OpenAPI document says how keys are sent, if the server reads keys."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            access = self.state.server.access
            document = super().openapi()
            if access.ring is not None:
                describe_keys(document, ACCESS_PATHS.is_open, is_required=access.is_key_required)
        assert self.openapi_schema is not None
        return self.openapi_schema


def install_routes(app: FastAPI, state: ServerState, *, has_metrics: bool) -> None:
    """Add every route to the app, and describe the errors that do not depend on its fields.

    `has_metrics`: whether /metrics has no port of its own.
    """
    codes = state.dispatcher.languages
    description = describe_translate(state.limits, codes, list(state.engines))
    groups: dict[str | None, list[APIRouter]] = {
        "Translation": [
            translate.make_router(description),
            next_words.make_router(state.limits, codes),
            detect.make_router(state.limits.max_characters),
            languages.router,
        ],
        "Glossaries": [
            glossaries.make_router(direct_pairs(state), is_on=state.glossaries is not None)
        ],
        "LibreTranslate": [
            suggest.make_router(codes, is_on=state.suggested.store is not None),
            frontend.router,
            *([frontend.spec_router] if app.openapi_url is not None else []),
        ],
        "Operation": [health.router, metrics.make_router(is_described=has_metrics)],
        None: list(_ROUTERS),
    }
    for tag, routers in groups.items():
        for router in routers:
            responses = describe_errors(*_common_statuses(router))
            app.include_router(router, tags=[tag] if tag else None, responses=responses)


def _common_statuses(router: APIRouter) -> list[int]:
    """The statuses of the errors that all routes of a router have."""
    paths = {route.path for route in router.routes if isinstance(route, APIRoute)}
    has_access = not any(map(ACCESS_PATHS.is_open, paths))
    has_engine = paths <= _WORK
    return [
        *ANYWHERE,
        *(WITH_ACCESS if has_access else ()),
        *(WITH_ENGINE if has_engine else ()),
    ]
