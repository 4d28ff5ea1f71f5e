"""What the routes work with: made once by service.app, found in the app's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from model.options import DecodingOptions
from service.engine import Engine
from service.metrics import Metrics
from service.translator import Translator


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


@dataclass(frozen=True)
class ServerState:
    """Everything that outlives a request."""

    engine: Engine
    translator: Translator
    metrics: Metrics
    decoding: DecodingOptions
    limits: Limits


def _server_state(connection: HTTPConnection) -> ServerState:
    state = connection.app.state.server
    assert isinstance(state, ServerState)
    return state


StateDep = Annotated[ServerState, Depends(_server_state)]
