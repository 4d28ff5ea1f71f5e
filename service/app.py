"""Build the server from its settings and models, and install the routes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from service import __version__, install_command
from service.commons.commons import Commons
from service.commons.local import limits_of_all, local_commons, open_keys
from service.documents.file_translator import FileTranslator
from service.documents.processes import DocumentBounds
from service.errors import StorageFailed
from service.http.access.caller import Access
from service.http.access.key_ring import KeyRing
from service.http.bodies import BodyBudget
from service.http.document_jobs import DocumentJobs
from service.http.head import RECORD_REFUSED
from service.http.limits import RequestLimits
from service.http.middleware import RequestMiddleware, record_refused
from service.http.origins import OriginRule, names_at
from service.http.request_log import REQUEST_ID_HEADER, RequestLog, Tracer
from service.http.requests import IGNORED_FIELDS_HEADER
from service.http.route_table import PATHS, DescribedApp, install_routes
from service.http.routes import pages
from service.http.state import ServerState
from service.models.loading import LoadedModel
from service.models.local_models import LocalModels
from service.models.served import ServedModels
from service.observability.metrics import Metrics
from service.settings import Settings
from service.settings.startup import StartupError
from service.stores.database import DatabaseError
from service.stores.glossaries import GlossaryStore
from service.stores.keys import KeyStore
from service.stores.suggested import SuggestedTranslations
from service.stores.suggestions import SuggestionStore
from service.translation.dispatcher import Dispatcher

_DRAIN_POLL_SECONDS = 0.01
_NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
_CORS = {
    "allow_methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": ["*"],
    "allow_private_network": True,
    "expose_headers": [REQUEST_ID_HEADER, IGNORED_FIELDS_HEADER, "Retry-After"],
}
_DESCRIPTION = "A translation server that batches at every decode step."


def create_app(settings: Settings, models: Sequence[LoadedModel]) -> FastAPI:
    """The server as an ASGI app; its lifespan starts and stops the engines.

    Raises StartupError.
    """
    metrics = Metrics()
    return create_app_over(settings, LocalModels(settings, models, metrics), metrics)


def create_app_over(
    settings: Settings, models: ServedModels, metrics: Metrics, commons: Commons | None = None
) -> FastAPI:
    """The server over these models, as an ASGI app; `metrics`: of this process; `commons`: what it
    has in common with other processes, if there are any. Raises StartupError."""
    try:
        state = _wire(settings, models, metrics, commons)
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
    app.state.server, app.state.gather_metrics = state, None
    app.add_middleware(
        RequestMiddleware,
        state=state,
        paths=PATHS,
        origins=OriginRule(settings.cors_origins, settings.allowed_hosts),
        metrics_port=settings.metrics_port,
        metrics_origins=OriginRule((), names_at(settings.metrics_host, settings.allowed_hosts)),
        cors={**_CORS, "allow_origins": settings.cors_origins} if settings.cors_origins else None,
    )
    install_routes(app, state, has_metrics=settings.metrics_port is None)
    if settings.api_docs:
        app.routes.extend(pages.make_reference_router().routes)
    if settings.page:
        router = pages.make_page_router(state, has_engine=settings.page_engine)
        app.routes.extend(router.routes)
    return app


async def drain(app: FastAPI, limit_seconds: float) -> None:
    """Refuse new work and wait for running work; after the limit fail the rest with an error."""
    state: ServerState = app.state.server
    state.models.refuse_new_work()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_seconds):
            while state.dispatcher.num_in_progress or state.documents.num_open:
                await asyncio.sleep(_DRAIN_POLL_SECONDS)
    await state.documents.stop()
    await state.models.stop()


def _lifespan(
    state: ServerState,
) -> Callable[[FastAPI], AbstractAsyncContextManager[dict[str, object]]]:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[dict[str, object]]:
        async with contextlib.AsyncExitStack() as stack:
            for part in (state.models.running(), state.access.running()):
                await stack.enter_async_context(part)
            await stack.enter_async_context(state.suggested.kept_current())
            await stack.enter_async_context(state.documents.running())
            yield {RECORD_REFUSED: functools.partial(record_refused, state, PATHS)}
        state.request_log.close()
        if state.glossaries:
            state.glossaries.close()

    return lifespan


def _wire(
    settings: Settings, models: ServedModels, metrics_: Metrics, commons: Commons | None
) -> ServerState:
    keys = open_keys(settings)
    try:
        commons = commons or local_commons(settings, keys)
        return _wired(settings, models, metrics_, commons, keys)
    except BaseException:
        if keys is not None:
            keys.close()
        raise


def _wired(
    settings: Settings,
    models: ServedModels,
    metrics_: Metrics,
    commons: Commons,
    keys: KeyStore | None,
) -> ServerState:
    dispatcher = models.dispatcher
    names = [field.name for field in dataclasses.fields(RequestLimits)]
    named = {name: getattr(settings, name) for name in names}
    limits = RequestLimits(**{**named, "deadline_seconds": settings.deadline_seconds or None})
    translator = FileTranslator(dispatcher, DocumentBounds(settings.max_document_characters))
    request_log = RequestLog(metrics_, _make_tracer(settings))
    return ServerState(
        models,
        dispatcher,
        metrics_,
        request_log,
        limits,
        DocumentJobs(translator, commons, metrics_),
        _make_access(settings, keys, commons),
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


def _make_access(settings: Settings, keys: KeyStore | None, commons: Commons) -> Access:
    ring = None if keys is None else KeyRing(keys)
    is_required = settings.api_keys == "required"
    return Access(ring, commons, limits_of_all(settings), is_key_required=is_required)


def _make_tracer(settings: Settings) -> Tracer | None:
    if not settings.otlp_endpoint:
        return None
    try:
        from service.http.tracing import OpenTelemetryTracer
    except ImportError as error:
        raise StartupError(f"traces need {install_command('otel')} ({error})") from error
    headers = settings.otlp_headers.get_secret_value() if settings.otlp_headers else ""
    return OpenTelemetryTracer(settings.otlp_endpoint, headers, __version__)
