"""Build the server from its settings and models, and install the routes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware.cors import CORSMiddleware

from service import __version__
from service.errors import StorageFailed
from service.http.access.access import Access
from service.http.access.key_ring import KeyRing
from service.http.access.middleware import AccessMiddleware
from service.http.access.windows import MinuteWindows
from service.http.body_budget import BodyBudget
from service.http.engine_view import EngineView
from service.http.error_handlers import install_error_handlers
from service.http.file_store import FileStore
from service.http.ignored_fields import IGNORED_FIELDS_HEADER
from service.http.metrics_port import MetricsPortMiddleware
from service.http.middleware import RequestMiddleware
from service.http.origins import OriginMiddleware
from service.http.request_log import REQUEST_ID_HEADER, RequestLog, Tracer
from service.http.route_table import (
    ACCESS_PATHS,
    ENDPOINTS,
    OPEN_TO_PAGES,
    DescribedApp,
    install_routes,
)
from service.http.routes import api_reference, page
from service.http.security_headers import SecurityHeadersMiddleware
from service.http.state import Limits, ServerState
from service.http.unread_body import UnreadBodyMiddleware
from service.loading import LoadedModel, StartupError
from service.observability.metrics import Metrics
from service.settings import Settings
from service.stores.api_key import ClientLimits
from service.stores.database import DatabaseError
from service.stores.glossaries import GlossaryStore
from service.stores.keys import KeyStore
from service.stores.suggestions import SuggestionStore
from service.suggestions import SuggestedTranslations
from service.translation.dispatcher import Dispatcher
from service.translation.document_processes import Bounds
from service.translation.files import FileTranslator
from service.wiring import wire

_DRAIN_POLL_SECONDS = 0.01
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
_DESCRIPTION = "A translation server that batches at every decode step."


def create_app(settings: Settings, models: Sequence[LoadedModel]) -> FastAPI:
    """The server as an ASGI app; its lifespan starts and stops the engines.

    Raises StartupError.
    """
    try:
        state = _wire(settings, models)
    except (DatabaseError, StorageFailed) as error:
        raise StartupError(f"setting database: {error}") from error
    app = DescribedApp(
        title="Dragoman",
        docs_url=None,  # FastAPI's pages load scripts of another host
        redoc_url=None,
        openapi_url="/openapi.json" if settings.api_docs else None,
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan(state),
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,  # FastAPI's own; the request log and the metrics replace it
    )
    app.state.server = state
    _add_middleware(app, state, settings)
    install_error_handlers(app, state.metrics)
    install_routes(app, state, has_metrics=settings.metrics_port is None)
    if settings.api_docs:
        app.include_router(api_reference.make_router())
    if settings.page:
        app.include_router(page.make_router(state.limits, _engine_numbers(state, settings)))
    return app


def build_document(app: FastAPI) -> None:
    """Build the OpenAPI document, which the app keeps, if it is served. This takes a tenth of a
    second, and would block the event loop in a request."""
    if app.openapi_url is not None:
        app.openapi()


async def drain(app: FastAPI, limit_seconds: float) -> None:
    """Refuse new work and wait for running work; after the limit fail the rest with an error."""
    state: ServerState = app.state.server
    for engine in state.engines.values():
        engine.refuse_new_work()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_seconds):
            while state.dispatcher.num_in_progress:
                await asyncio.sleep(_DRAIN_POLL_SECONDS)
    await asyncio.gather(*(asyncio.to_thread(engine.stop) for engine in state.engines.values()))


def _lifespan(state: ServerState) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        for engine in state.engines.values():
            engine.start()
        async with state.access.running(), state.suggested.kept_current():
            yield
        for engine in state.engines.values():
            engine.stop()
        state.request_log.close()
        if state.glossaries:
            state.glossaries.close()

    return lifespan


def _add_middleware(app: FastAPI, state: ServerState, settings: Settings) -> None:
    """The last one sees a request first."""
    app.add_middleware(
        AccessMiddleware, access=state.access, paths=ACCESS_PATHS, metrics=state.metrics
    )
    app.add_middleware(
        OriginMiddleware,
        origins=settings.cors_origins,
        hosts=settings.allowed_hosts,
        is_open=OPEN_TO_PAGES.is_open,
        metrics=state.metrics,
    )
    if settings.metrics_port is not None:
        app.add_middleware(MetricsPortMiddleware, port=settings.metrics_port)
    app.add_middleware(
        RequestMiddleware,
        request_log=state.request_log,
        metrics=state.metrics,
        endpoints=ENDPOINTS,
        refusal=state.dispatcher.refusal,
    )
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
            allow_headers=["*"],
            expose_headers=[REQUEST_ID_HEADER, IGNORED_FIELDS_HEADER, "Retry-After"],
        )
    app.add_middleware(UnreadBodyMiddleware)
    app.add_middleware(SecurityHeadersMiddleware)


def _engine_numbers(state: ServerState, settings: Settings) -> page.EngineNumbers | None:
    if not settings.page_engine:
        return None
    return page.EngineNumbers(state.metrics.render_engines, EngineView(state.engines).render)


def _wire(settings: Settings, models: Sequence[LoadedModel]) -> ServerState:
    metrics_ = Metrics()
    engines, dispatcher = wire(settings, models, metrics_)
    limits = Limits(
        max_body_bytes=settings.max_body_bytes,
        max_characters=settings.max_characters,
        max_texts=settings.max_texts,
        max_document_bytes=settings.max_document_bytes,
        max_beam_size=settings.max_beam_size,
        max_streams=settings.max_streams,
        stream_idle_seconds=settings.stream_idle_seconds,
        deadline_seconds=settings.deadline_seconds or None,
    )
    request_log = RequestLog(metrics_, _make_tracer(settings))
    return ServerState(
        engines,
        dispatcher,
        metrics_,
        request_log,
        limits,
        FileStore(),
        FileTranslator(dispatcher, Bounds(settings.max_document_characters)),
        _make_access(settings),
        _make_suggested(settings, dispatcher),
        BodyBudget(settings.max_bodies_bytes),
        _open_glossaries(settings, metrics_),
    )


def _open_glossaries(settings: Settings, metrics_: Metrics) -> GlossaryStore | None:
    if settings.database is None:
        return None
    store = GlossaryStore(
        settings.database,
        max_glossaries=settings.max_glossaries,
        max_terms=settings.max_glossary_terms,
    )
    metrics_.database_lost.set_function(lambda: store.is_lost)
    return store


def _make_suggested(settings: Settings, dispatcher: Dispatcher) -> SuggestedTranslations:
    if not settings.suggestions:
        return SuggestedTranslations(dispatcher, None)
    assert settings.database is not None  # the settings say so
    return SuggestedTranslations(dispatcher, SuggestionStore(settings.database))


def _make_access(settings: Settings) -> Access:
    """Raises StartupError."""
    limits = ClientLimits(
        settings.requests_per_minute, settings.characters_per_minute, settings.concurrent_requests
    )
    url = settings.limits_url.get_secret_value() if settings.limits_url else None
    try:
        windows = MinuteWindows(url)
    except ValueError as error:
        raise StartupError(f"setting limits_url: {error}") from None
    ring = None
    if settings.api_keys != "off":
        assert settings.database is not None  # the settings say so
        ring = KeyRing(KeyStore(settings.database))
    return Access(ring, windows, limits, is_key_required=settings.api_keys == "required")


def _make_tracer(settings: Settings) -> Tracer | None:
    if not settings.otlp_endpoint:
        return None
    try:
        from service.http.tracing import OpenTelemetryTracer
    except ImportError as error:
        raise StartupError(f"traces need dragoman[otel]: {error}") from error
    headers = settings.otlp_headers.get_secret_value() if settings.otlp_headers else ""
    return OpenTelemetryTracer(settings.otlp_endpoint, headers, __version__)
