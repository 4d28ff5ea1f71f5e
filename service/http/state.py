"""Shared objects of the routes; service.app creates them once and stores them in app.state."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from service.errors import InvalidField, UnknownGlossary
from service.http.access.caller import Access, Caller
from service.http.bodies import BodyBudget
from service.http.document_jobs import DocumentJobs
from service.http.limits import RequestLimits
from service.http.request_log import RequestLog
from service.http.translate_request import TranslateRequest
from service.models.served import ServedModels
from service.observability.metrics import Metrics
from service.stores.glossaries import GlossaryStore
from service.stores.suggested import SuggestedTranslations
from service.translation.dispatcher import Dispatcher
from service.translation.glossary import Glossary
from service.translation.job import AUTO, TranslationJob

_NEEDS_DATABASE = "this server stores no glossaries: it has no database (setting database)"


@dataclass(frozen=True)
class ServerState:
    """The objects that outlive a request."""

    models: ServedModels
    dispatcher: Dispatcher
    metrics: Metrics
    request_log: RequestLog
    limits: RequestLimits
    documents: DocumentJobs
    access: Access
    suggested: SuggestedTranslations
    bodies: BodyBudget
    glossaries: GlossaryStore | None = None

    @property
    def glossary_store(self) -> GlossaryStore:
        """Raises UnknownGlossary if the server has no database."""
        if self.glossaries is None:
            raise UnknownGlossary(_NEEDS_DATABASE)
        return self.glossaries

    async def admit(
        self,
        caller: Caller,
        wanted: TranslateRequest,
        num_characters: int | None = None,
        num_weighted: float | None = None,
    ) -> TranslationJob:
        """Check the request's limits and the caller's, and make the job.

        `num_characters`: what the caller is charged, by default the characters of its texts;
        `num_weighted`: what they count as in a minute, by default by the request's options. Raises
        a ServiceError.
        """
        limits = self.limits
        limits.check_texts("q", wanted.texts)
        limits.check_length("target_prefix", wanted.prefixes)
        if num_characters is None:
            num_characters = sum(map(len, wanted.texts))
        stored = None
        if isinstance(wanted.glossary, str):
            stored = await self._stored_glossary(caller, wanted.glossary, wanted.pair)
        if not self.access.is_open:
            if num_weighted is None:
                num_weighted = wanted.weighted(
                    num_characters,
                    self.dispatcher.default_beam_size,
                    limits.max_target_tokens,
                    stored,
                )
            await caller.charge(num_characters, num_weighted)
        return wanted.job(limits.deadline_seconds, caller.client.name, stored)

    async def _stored_glossary(
        self, caller: Caller, name: str, languages: tuple[str, str]
    ) -> Glossary:
        """The glossary of the name. Raises a ServiceError."""
        await caller.identify(None)
        if self.glossaries is None:
            raise UnknownGlossary(f"there is no such glossary: {_NEEDS_DATABASE}")
        (source, target), pair = languages, None
        if source != AUTO:
            known = self.dispatcher.known_language
            pair = known("source", source), known("target", target)
        return await run_in_threadpool(self.glossaries.load, name, caller.owner, pair)

    def direct_pair(self, source: str, target: str) -> tuple[str, str]:
        """The server's codes of a pair that one model has. Raises UnsupportedLanguage or
        InvalidField."""
        route = self.dispatcher.route(source, target)
        if len(route) > 1 or route[0].source == route[0].target:
            raise InvalidField(
                f"a glossary needs a model from {source} to {target}, and this server has none"
            )
        return route[0].source, route[0].target


def server_state(connection: HTTPConnection) -> ServerState:
    state = connection.app.state.server
    assert isinstance(state, ServerState)
    return state
