"""What the routes work with: made once by service.app, found in the app's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from service.engine.engine import Engine
from service.errors import TextTooLong, TooManyTexts, UnsupportedFormat
from service.http.request_log import RequestLog
from service.http.schemas import TranslateRequest
from service.observability.metrics import Metrics
from service.translation.dispatcher import Dispatcher, TranslationJob


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    max_body_bytes: int
    max_characters: int
    max_texts: int
    max_beam_size: int
    max_streams: int
    stream_idle_seconds: float
    deadline_seconds: float | None


def check_limits(wanted: TranslateRequest, limits: Limits) -> None:
    """Raise UnsupportedFormat, TooManyTexts or TextTooLong."""
    if wanted.format != "text":
        raise UnsupportedFormat(f'format "{wanted.format}" is not supported yet; send "text"')
    if len(wanted.texts) > limits.max_texts:
        raise TooManyTexts(
            f"q has {len(wanted.texts)} texts, at most {limits.max_texts} are allowed"
        )
    for field, texts in (("q", wanted.texts), ("target_prefix", wanted.prefixes)):
        num_characters = sum(map(len, texts))
        if num_characters > limits.max_characters:
            raise TextTooLong(
                f"{field} has {num_characters} characters, "
                f"at most {limits.max_characters} are allowed"
            )


@dataclass(frozen=True)
class ServerState:
    """Everything that outlives a request; the engines by the names of their models."""

    engines: Mapping[str, Engine]
    dispatcher: Dispatcher
    metrics: Metrics
    request_log: RequestLog
    limits: Limits

    def job(self, wanted: TranslateRequest) -> TranslationJob:
        """The request as a job, within the limits; raises a ServiceError."""
        limits = self.limits
        check_limits(wanted, limits)
        return wanted.job(limits.max_beam_size, limits.deadline_seconds)


def server_state(connection: HTTPConnection) -> ServerState:
    state = connection.app.state.server
    assert isinstance(state, ServerState)
    return state


async def _server_state(connection: HTTPConnection) -> ServerState:
    """Asynchronous, because FastAPI would give a plain function to another thread."""
    return server_state(connection)


StateDep = Annotated[ServerState, Depends(_server_state)]
