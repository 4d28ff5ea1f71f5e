"""Shared objects of the routes; service.app creates them once and stores them in app.state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from service.engine.engine import Engine
from service.errors import InvalidField, TextTooLong, TooManyTexts, UnknownGlossary
from service.http.access.access import Access
from service.http.access.caller import Caller
from service.http.body_budget import BodyBudget
from service.http.file_store import FileStore
from service.http.request_log import RequestLog
from service.http.schemas import TranslateRequest
from service.observability.metrics import Metrics
from service.stores.glossaries import GlossaryStore
from service.suggestions import SuggestedTranslations
from service.translation.dispatcher import Dispatcher
from service.translation.files import FileTranslator
from service.translation.glossary import Glossary
from service.translation.job import TranslationJob

_NEEDS_DATABASE = "this server stores no glossaries: it has no database (setting database)"
OVER_LIMIT = "request exceeds text limit"
"""LibreTranslate's words, which clients look for in the message."""


@dataclass(frozen=True)
class Limits:
    """Limits of one request, and of the streams of one connection."""

    max_body_bytes: int
    max_characters: int
    max_texts: int
    max_beam_size: int
    max_streams: int
    stream_idle_seconds: float
    deadline_seconds: float | None
    max_document_bytes: int = 10_485_760


def check_limits(wanted: TranslateRequest, limits: Limits) -> None:
    """Raises TooManyTexts or TextTooLong."""
    check_texts("q", wanted.texts, limits)
    check_length("target_prefix", wanted.prefixes, limits)


def check_texts(field: str, texts: Sequence[str], limits: Limits) -> None:
    """Raises TooManyTexts or TextTooLong."""
    if len(texts) > limits.max_texts:
        raise TooManyTexts(
            f"{OVER_LIMIT}: {field} has {len(texts)} texts, at most {limits.max_texts} are allowed"
        )
    check_length(field, texts, limits)


def check_length(field: str, texts: Sequence[str], limits: Limits) -> None:
    """Raises TextTooLong."""
    num_characters = sum(map(len, texts))
    if num_characters > limits.max_characters:
        raise TextTooLong(
            f"{OVER_LIMIT}: {field} has {num_characters} characters, "
            f"at most {limits.max_characters} are allowed"
        )


@dataclass(frozen=True)
class ServerState:
    """The objects that outlive a request; `engines` is keyed by model name."""

    engines: Mapping[str, Engine]
    dispatcher: Dispatcher
    metrics: Metrics
    request_log: RequestLog
    limits: Limits
    files: FileStore
    file_translator: FileTranslator
    access: Access
    suggested: SuggestedTranslations
    bodies: BodyBudget
    glossaries: GlossaryStore | None = None

    async def admit(
        self, caller: Caller, wanted: TranslateRequest, num_characters: int | None = None
    ) -> TranslationJob:
        """Check the server's limits and the caller's, and make the job.

        `num_characters`: what the caller is charged, by default the characters of its texts.
        Raises a ServiceError.
        """
        limits = self.limits
        check_limits(wanted, limits)
        if num_characters is None:
            num_characters = sum(map(len, wanted.texts))
        await caller.charge(num_characters, wanted.weight(self.dispatcher.default_beam_size))
        return wanted.job(limits.deadline_seconds, await self._stored_glossary(caller, wanted))

    async def _stored_glossary(self, caller: Caller, wanted: TranslateRequest) -> Glossary | None:
        """The glossary that the request names. Raises UnknownGlossary or StorageFailed."""
        if not isinstance(wanted.glossary, str):
            return None
        if self.glossaries is None:
            raise UnknownGlossary(f"there is no such glossary: {_NEEDS_DATABASE}")
        return await run_in_threadpool(self.glossaries.load, wanted.glossary, caller.owner)


def glossary_store(state: ServerState) -> GlossaryStore:
    """Raises UnknownGlossary if the server has no database."""
    if state.glossaries is None:
        raise UnknownGlossary(_NEEDS_DATABASE)
    return state.glossaries


def direct_pair(state: ServerState, source: str, target: str) -> tuple[str, str]:
    """The server's codes of a pair that one model has. Raises UnsupportedLanguage or
    InvalidField."""
    route = state.dispatcher.route(source, target)
    if len(route) > 1 or route[0].source == route[0].target:
        raise InvalidField(
            f"a glossary needs a model from {source} to {target}, and this server has none"
        )
    return route[0].source, route[0].target


def direct_pairs(state: ServerState) -> list[tuple[str, str]]:
    """The pairs of languages that one model has."""
    return [
        (source, target)
        for source, targets in state.dispatcher.targets.items()
        for target in targets
        if len(state.dispatcher.route(source, target)) == 1
    ]


def server_state(connection: HTTPConnection) -> ServerState:
    state = connection.app.state.server
    assert isinstance(state, ServerState)
    return state


async def _server_state(connection: HTTPConnection) -> ServerState:
    """Async, because FastAPI runs plain functions in a thread pool."""
    return server_state(connection)


StateDep = Annotated[ServerState, Depends(_server_state)]
