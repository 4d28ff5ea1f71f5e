"""All routes of the server, the metrics' names of their paths, and which of them need an engine."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from fastapi import FastAPI
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import NotFound, shown
from service.http.apis import (
    apertium,
    deepl,
    deepl_glossaries,
    deepl_languages,
    deeplx,
    google,
    immersive,
    libretranslate,
    mtranserver,
    ollama,
    openai,
    opus_cat,
)
from service.http.bodies import JSON
from service.http.error_answers import APERTIUM_PAIRS, OPUS_CAT
from service.http.openapi import Offer, describe_error_body, describe_keys
from service.http.paths import Paths
from service.http.routes import (
    documents,
    files,
    glossaries,
    operation,
    pages,
    translate,
    websocket,
)
from service.http.state import ServerState

_WORK = frozenset(
    {
        *(translate.PATH, translate.NEXT_WORDS, mtranserver.BATCH, files.PATH, deepl.TRANSLATE),
        *(google.PATH, deeplx.PATH, immersive.PATH, openai.PATH, ollama.CHAT, ollama.GENERATE),
        *opus_cat.WORK,
    }
)
_OPEN = frozenset(
    {
        *(libretranslate.LANGUAGES, libretranslate.SETTINGS, libretranslate.SPEC),
        *("/openapi.json", operation.HEALTH, operation.LIVE, operation.READY, operation.METRICS),
        *(pages.REFERENCE, pages.ROOT),
    }
)
PATHS = Paths(
    named=_WORK
    | _OPEN
    | {
        *(libretranslate.DETECT, libretranslate.SUGGEST, glossaries.PATH, websocket.PATH),
        *(documents.PATH, deepl.DOCUMENT),
        *(deepl_languages.LANGUAGES, deepl_languages.LANGUAGES_3, deepl_languages.RESOURCES),
        *(deepl.USAGE, deepl_glossaries.PAIRS),
        *(deepl_glossaries.GLOSSARIES, deepl_glossaries.GLOSSARIES_3),
        *(
            google.DETECT,
            google.LANGUAGES,
            openai.MODELS,
            ollama.MODELS,
            ollama.SHOW,
            ollama.VERSION,
        ),
        *(APERTIUM_PAIRS, operation.MODELS),
    },
    named_below=(
        *(pages.FOLDER, pages.REFERENCE_FOLDER, files.DOWNLOADS, documents.BELOW),
        deepl.DOCUMENT + "/",
        operation.ADMIN,
        *OPUS_CAT,
        *(
            glossaries.PATH + "/",
            deepl_glossaries.GLOSSARIES + "/",
            deepl_glossaries.GLOSSARIES_3 + "/",
            openai.MODELS + "/",
        ),
    ),
    work=_WORK,
    open=_OPEN,
    open_below=(pages.FOLDER, pages.REFERENCE_FOLDER),
    linked_below=(files.DOWNLOADS,),
    keyed=_WORK
    | {libretranslate.DETECT, libretranslate.SUGGEST, google.DETECT, google.LANGUAGES}
    | {deepl_languages.LANGUAGES, deepl.DOCUMENT, documents.PATH},
    keyed_below=(deepl.DOCUMENT + "/",),
)
"""All paths that are not open need a key if one is required, also those that do not exist. A
download's link is opened from chats and from pages that show it; its name is a secret, and a key
may stand in its query."""


class RouteFinder:
    """Finds the route of a method and a path without parameters in a table; the router, which tries
    one expression after another, finds all others."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self.routes: dict[tuple[str, str], Route] = {}
        for route in router.routes:
            if isinstance(route, Route) and not route.param_convertors:
                for method in route.methods or ():
                    self.routes.setdefault((method, route.path), route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = None
        if scope["type"] == "http" and not scope.get("root_path"):
            route = self.routes.get((scope["method"], scope["path"]))
        if route is None:
            await self._router(scope, receive, send)
        else:
            scope.update(router=self._router, endpoint=route.endpoint, path_params={})
            await route.handle(scope, receive, send)


class DescribedApp(FastAPI):
    """An app whose OpenAPI document says how keys are sent, if the server reads keys, and whose
    errors are answered by its own middleware alone.

    Building the document takes 50 ms, so a thread does it when somebody asks for it."""

    def setup(self) -> None:
        self._building = threading.Lock()
        if self.openapi_url is not None:
            self.add_route(self.openapi_url, _answer_document, include_in_schema=False)

    def build_middleware_stack(self) -> ASGIApp:
        app: ASGIApp = RouteFinder(self.router)
        for middleware, arguments, options in reversed(self.user_middleware):
            app = middleware(app, *arguments, **options)
        return app

    def openapi(self) -> dict[str, Any]:
        with self._building:
            if self.openapi_schema is None:
                access = self.state.server.access
                document = super().openapi()
                self.openapi_schema = None  # until it is complete
                describe_error_body(document)
                if access.ring is not None:
                    describe_keys(document, PATHS.is_open, is_required=access.is_key_required)
                self.openapi_schema = document
            return self.openapi_schema


async def _answer_document(request: Request) -> Response:
    document = await asyncio.to_thread(request.app.openapi)
    if root := files.path_prefix(request):
        document = {**document, "servers": [{"url": root}]}
    return Response(to_json(document), media_type=JSON)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Starlette would close a websocket without a reason. Raises NotFound or HTTPException."""
    if scope["type"] == "websocket":
        raise NotFound(f"WS {shown(scope['path'])}: not found")
    raise HTTPException(404)


def install_routes(app: FastAPI, state: ServerState, *, has_metrics: bool) -> None:
    """Add every route to the app.

    `has_metrics`: whether /metrics has no port of its own.
    """
    app.router.default = _not_found
    pairs = state.dispatcher.routes.direct_pairs
    offer = Offer(state.limits, state.dispatcher.routes.languages, state.models.names)
    if state.models.may_change:
        pairs, offer = [], Offer(state.limits, [], [])
    for router in (
        translate.make_router(offer),
        libretranslate.make_detect_router(offer),
        libretranslate.make_languages_router(),
        glossaries.make_router(pairs, is_on=state.glossaries is not None),
        libretranslate.make_suggest_router(offer, is_on=state.suggested.store is not None),
        libretranslate.make_settings_router(has_spec=app.openapi_url is not None),
        operation.make_health_router(),
        operation.make_metrics_router(is_described=has_metrics),
        operation.make_models_router(),
        websocket.router,
        files.make_router(offer),
        documents.make_router(offer),
        deeplx.router,
        apertium.router,
        translate.queried,
        mtranserver.router,
        opus_cat.router,
        immersive.router,
        openai.router,
        ollama.router,
        deepl.router,
        deepl_languages.router,
        deepl.make_document_router(offer),
        deepl_glossaries.router,
        google.router,
    ):
        app.routes.extend(router.routes)
