"""Build the server from its settings: load the models, wire the parts, install the routes."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI

from model.options import DecodingOptions
from service import __version__
from service.dispatcher import Dispatcher
from service.engine import Engine, EngineLimits
from service.journal import Journal, Tracer
from service.metrics import Metrics, ModelMetrics
from service.middleware import RequestMiddleware
from service.responses import ErrorBody, install_error_handlers
from service.routes import health, languages, metrics, stream, translate
from service.routes.state import Limits, ServerState
from service.seam import Runner, Tokenizer
from service.settings import Settings
from service.translator import Translator

_ENDPOINTS = frozenset(
    {
        *("/translate", "/languages", "/health", "/health/live", "/health/ready", "/metrics"),
        *("/docs", "/openapi.json"),
    }
)
_GIB = 2**30
_DESCRIPTION = "A translation server: LibreTranslate's API, batched at every decode step."


class StartupError(ValueError):
    """The server cannot start; the message says what is wrong."""


@dataclass(frozen=True)
class LoadedModel:
    """A checkpoint that is ready to translate, without a word about tensors. `runner_bytes`: what
    its runner needs besides the weights when it is full."""

    name: str
    pairs: Sequence[tuple[str, str]]
    own_codes: Mapping[str, str]
    decoding: DecodingOptions
    tokenizer: Tokenizer
    make_runner: Callable[[], Runner]
    max_source_tokens: int
    runner_bytes: int
    device: str
    precision: str
    load_seconds: float


def load_models(settings: Settings) -> list[LoadedModel]:
    """Load the checkpoints that the settings name; raises StartupError."""
    if settings.threads:
        os.environ["OMP_NUM_THREADS"] = str(settings.threads)  # torch reads it when imported
    models = [_load_model(path, settings) for path in settings.model]
    for name, count in Counter(model.name for model in models).items():
        if count > 1:
            raise StartupError(f"{count} models are called {name!r}; each needs a name of its own")
    _require_memory(models)
    return models


def _require_memory(models: Sequence[LoadedModel]) -> None:
    """Better now than when the server is full."""
    from model.placement import free_bytes

    needed, free = sum(model.runner_bytes for model in models), free_bytes(models[0].device)
    if needed > free:
        raise StartupError(
            f"full slots would take {needed / _GIB:.1f} GiB of memory, and {free / _GIB:.1f} GiB "
            "are free; lower max_slots, max_rows, max_target_tokens or max_source_tokens"
        )


def _load_model(path: Path, settings: Settings) -> LoadedModel:
    started = time.monotonic()
    from model.checkpoint import CheckpointError, load_checkpoint
    from model.importers.resolve import resolve_checkpoint
    from model.network import Room
    from model.placement import full_bytes, resolve_device, resolve_precision
    from model.runner import Runner as ModelRunner

    try:
        device = resolve_device(settings.device)
        precision = resolve_precision(settings.precision, device)
        directory = resolve_checkpoint(path)
        checkpoint = load_checkpoint(directory, device)
    except (CheckpointError, ValueError, OSError) as error:
        raise StartupError(str(error)) from error
    loaded = [checkpoint]

    def make_runner() -> Runner:
        """The weights are given up as soon as the runner has them in its own form; a runner that
        is made anew reads them anew."""
        source = loaded.pop() if loaded else load_checkpoint(directory, device)
        return ModelRunner(
            source.model,
            source.tokenizer.control_ids(),
            max_slots=settings.max_slots,
            max_rows=settings.max_rows,
            max_source_tokens=settings.max_source_tokens,
            max_target_tokens=settings.max_target_tokens,
            max_beam_size=settings.max_beam_size,
            precision=precision,
        )

    info, config = checkpoint.info, checkpoint.info.architecture
    room = Room(
        settings.max_slots,
        settings.max_rows,
        min(settings.max_source_tokens, config.max_positions),
        min(settings.max_target_tokens, config.max_positions),
    )
    return LoadedModel(
        name=info.name,
        pairs=info.pairs,
        own_codes=info.own_codes,
        decoding=info.decoding,
        tokenizer=checkpoint.tokenizer,
        make_runner=make_runner,
        max_source_tokens=room.max_source_tokens,
        runner_bytes=full_bytes(config, room, settings.max_beam_size, precision),
        device=device,
        precision=precision,
        load_seconds=time.monotonic() - started,
    )


def create_app(settings: Settings, models: Sequence[LoadedModel]) -> FastAPI:
    """The server as an ASGI app, whose engines run from start-up to shut-down; or StartupError."""
    state = _wire(settings, models)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        for engine in state.engines.values():
            engine.start()
        yield
        for engine in state.engines.values():
            engine.stop()
        state.journal.close()

    app = FastAPI(
        title="Dragoman",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        responses={"4XX": {"model": ErrorBody}, "5XX": {"model": ErrorBody}},
    )
    app.state.server = state
    app.add_middleware(
        RequestMiddleware,
        journal=state.journal,
        metrics=state.metrics,
        endpoints=_ENDPOINTS,
        work_path="/translate",
        refusal=state.dispatcher.refusal,
    )
    install_error_handlers(app, state.metrics)
    for routes in (translate, stream, languages, health, metrics):
        app.include_router(routes.router)
    return app


async def drain(app: FastAPI, limit_seconds: float) -> None:
    """Refuse new work and wait for the app's running work; after the limit the rest is ended with
    an error."""
    engines: Sequence[Engine] = list(app.state.server.engines.values())
    await asyncio.gather(*(engine.drain(limit_seconds) for engine in engines))
    await asyncio.gather(*(asyncio.to_thread(engine.stop) for engine in engines))


def _wire(settings: Settings, models: Sequence[LoadedModel]) -> ServerState:
    metrics_ = Metrics()
    engines = {
        model.name: _make_engine(settings, model, metrics_.of_model(model.name)) for model in models
    }
    translators = [
        Translator(
            model.name,
            engines[model.name],
            model.tokenizer,
            model.pairs,
            model.decoding,
            model.max_source_tokens,
            model.own_codes,
        )
        for model in models
    ]
    limits = Limits(
        max_body_bytes=settings.max_body_bytes,
        max_characters=settings.max_characters,
        max_texts=settings.max_texts,
        max_beam_size=settings.max_beam_size,
        max_streams=settings.max_streams,
        stream_idle_seconds=settings.stream_idle_seconds,
        deadline_seconds=settings.deadline_seconds or None,
    )
    journal = Journal(metrics_, _make_tracer(settings))
    return ServerState(engines, Dispatcher(translators), metrics_, journal, limits)


def _make_tracer(settings: Settings) -> Tracer | None:
    if not settings.otlp_endpoint:
        return None
    try:
        from service.tracing import OpenTelemetryTracer
    except ImportError as error:
        raise StartupError(f"traces need dragoman[otel]: {error}") from error
    headers = settings.otlp_headers.get_secret_value() if settings.otlp_headers else ""
    return OpenTelemetryTracer(settings.otlp_endpoint, headers, __version__)


def _make_engine(settings: Settings, model: LoadedModel, metrics_: ModelMetrics) -> Engine:
    bounds = EngineLimits(
        max_waiting_sentences=settings.max_waiting_sentences,
        max_waiting_tokens=settings.max_waiting_tokens,
        max_prefill_tokens=settings.max_prefill_tokens,
    )
    try:
        engine = Engine(model.make_runner, metrics_, bounds)
    except MemoryError as error:
        raise StartupError(f"{model.name} on {model.device}: {error}") from error
    metrics_.describe_model(__version__, model.device, model.precision, model.load_seconds)
    metrics_.watch_engine(
        {
            "running": lambda: engine.num_running,
            "slots": lambda: settings.max_slots,
            "rows_used": lambda: engine.num_rows,
            "rows": lambda: settings.max_rows,
            "waiting": lambda: engine.backlog.num_sentences,
            "waiting_tokens": lambda: engine.backlog.num_tokens,
            "ready": lambda: engine.is_ready,
        }
    )
    return engine
