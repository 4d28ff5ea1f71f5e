"""Route each text of a job to one model, or to two through a pivot, and have them in memory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

from service.errors import NotReady, ServiceError
from service.translation.job import AUTO, ModelJob, TextFormat, TranslationJob
from service.translation.language.detection import Detection, LanguageDetector
from service.translation.leases import Leases, ModelChanged
from service.translation.markup.coded_text import Text
from service.translation.options import final_options
from service.translation.passage import Passage
from service.translation.preparation import sample_of
from service.translation.results import (
    TextPiece,
    TranslationResult,
)
from service.translation.routing import (
    OfferedModel,
    Route,
    Routes,
    distinct,
    require_glossary,
    unsupported_source,
)
from service.translation.streaming import buffered
from service.translation.study.next_words import NextWords
from service.translation.text_work import num_characters, raise_if_unwanted, text_work
from service.translation.translator import Pieces

_RoutedJob = tuple[Route, ModelJob]
"""A route, and the job of its last model; with two hops, that job still has the source texts."""
_Detections = Sequence[Detection]
"""Of each text, or none if the source is given."""


class Dispatcher:
    """Routes each text over the models that are offered, and leases them from the pool."""

    def __init__(self, models: Sequence[OfferedModel], pool: Leases, max_beam_size: int) -> None:
        """`max_beam_size`: the largest that a job may ask for."""
        self._pool = pool
        self._max_beam_size = max_beam_size
        self.num_in_progress = 0
        self._detector = LanguageDetector()
        self.routes = Routes(models)
        """Those of the models that are offered now; replaced when these change."""

    @property
    def default_beam_size(self) -> int:
        return max((model.decoding.beam_size for model in self.routes.models), default=1)

    def require_room(self, client: str) -> None:
        """Raise a ServiceError if no model can accept one more sentence of a client now."""
        self._current_routes()
        self._pool.require_room(client)

    def require_ready(self) -> None:
        """Raise NotReady or Draining unless there are models and those in memory accept work."""
        self._pool.require_ready()
        self._current_routes()

    def _current_routes(self) -> Routes:
        """Raises NotReady if no model is offered."""
        if not self.routes.models:
            raise _no_model()
        return self.routes

    def known_language(self, field: str, code: str) -> str:
        """The first model's own code for a language; UnsupportedLanguage names the field."""
        return self._current_routes().require_known(field, code)

    def route(self, source: str, target: str, model: str | None = None) -> Route:
        """One hop, or two if no model has the pair. Codes in any spelling, but not "auto".

        Raises UnsupportedLanguage if there is no route, and InvalidField for an unknown model.
        """
        return self._current_routes().of(model).require(source, target)

    async def detect(
        self,
        texts: Sequence[str],
        candidates: Sequence[str] = (),
        text_format: TextFormat = "text",
        preferred: Sequence[str] = (),
    ) -> Sequence[Detection]:
        """The likeliest language of each text among `candidates`, or all that the models know.

        `preferred`: codes in any spelling that the caller expects; unknown ones are ignored.
        """
        routes = self._current_routes()
        codes = candidates or routes.languages
        detect = functools.partial(self._detect, routes, texts, codes, text_format, preferred)
        return await text_work(num_characters(texts), detect)

    async def detect_source(self, job: TranslationJob) -> str:
        """The language of the job's only text, among those that have a route to its target."""
        if job.source != AUTO:
            return job.source
        detect = functools.partial(self._detect_sources, self._current_routes(), job)
        (found,) = await text_work(num_characters(job.texts), detect, job.ticket)
        return found.language

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        with self.in_progress():
            async with contextlib.AsyncExitStack() as leases:
                detections, passages = await self._prepare(job, leases)
                if len(passages) == 1 and not detections:
                    return await passages[0].translate()
                placed: dict[int, TranslationResult] = {}
                for one, results in zip(passages, await _run_all(passages), strict=True):
                    placed |= zip(one.work.places, results, strict=True)
        return _in_order(placed, detections)

    async def next_words(self, job: TranslationJob, prefix: str, count: int) -> NextWords:
        """The likeliest next words after `prefix`, of the job's only text."""
        with self.in_progress():
            async with contextlib.AsyncExitStack() as leases:
                _, (passage,) = await self._route_and_lease(job, leases)
                return await passage.next_words(prefix, count)

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`. The models are leased
        until the engines have done their work; pieces that are not taken by then wait.
        """
        job = dataclasses.replace(job, ticket=job.ticket.streamed())
        with self.in_progress():
            async with contextlib.AsyncExitStack() as streams:
                detections, passages = await self._prepare(job, streams)
                for passage in passages:
                    await passage.begin(streams)
                work = streams.pop_all()
            async with buffered(_follow(detections, passages, work), work) as taken:
                yield taken

    @contextlib.contextmanager
    def in_progress(self) -> Iterator[None]:
        """Count a job as in progress while it may still use an engine, or is read."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _prepare(
        self, job: TranslationJob, leases: contextlib.AsyncExitStack
    ) -> tuple[_Detections, list[Passage]]:
        """Detect, route, have the models in memory, cut and tokenise the texts."""
        detections, passages = await self._route_and_lease(job, leases)
        terms = [entry.source for entry in job.glossary.entries] if job.glossary else []
        own_size = num_characters([*job.prefixes, *terms]) if job.prefixes or terms else 0
        for passage in passages:
            size = own_size + num_characters(passage.work.texts)
            await text_work(size, passage.prepare, job.ticket)
        return detections, passages

    async def _route_and_lease(
        self, job: TranslationJob, leases: contextlib.AsyncExitStack
    ) -> tuple[_Detections, list[Passage]]:
        """Route the job and lease the models of its hops, in order. If models change before all are
        leased, the job is routed again."""
        while True:
            routes = self._current_routes()
            if job.source == AUTO:
                work = functools.partial(self._detect_sources, routes, job)
                detections = await text_work(num_characters(job.texts), work, job.ticket)
                if routes is not self.routes:
                    continue
                routed = self._by_language(routes, job, detections)
            else:
                detections = []
                routed = [self._routed(routes, job, job.source, range(len(job.texts)))]
            names = [hop.model.name for route, _ in routed for hop in route]
            lease = self._pool.lease(names, job.ticket)
            with contextlib.suppress(ModelChanged):
                leased = iter(await leases.enter_async_context(lease))
                return detections, [
                    Passage(route, work, [next(leased) for _ in route], self._max_beam_size)
                    for route, work in routed
                ]

    def _by_language(
        self, routes: Routes, job: TranslationJob, detections: _Detections
    ) -> list[_RoutedJob]:
        """The job's texts by route; no routes for an empty job."""
        places: dict[str, list[int]] = {}
        for place, found in enumerate(detections):
            places.setdefault(found.language, []).append(place)
        return [self._routed(routes, job, source, own) for source, own in places.items()]

    def _routed(
        self, routes: Routes, job: TranslationJob, source: str, places: Sequence[int]
    ) -> _RoutedJob:
        """The texts at these places, whose language is `source`."""
        route = routes.of(job.model).require(source, job.target)
        if job.glossary is not None:
            require_glossary(job.glossary, route)
        last = route[-1]
        options = final_options(job, last.model.decoding, self._max_beam_size)
        texts = [job.texts[place] for place in places]
        codes = last.model.network_codes
        source, target = codes[last.source], codes[last.target]
        scripts = target != last.target, codes[last.source] != last.source
        return route, ModelJob(job, texts, places, source, target, options, *scripts)

    def _detect_sources(self, routes: Routes, job: TranslationJob) -> _Detections:
        """The language of each text. UnsupportedLanguage if every text is likely in a language that
        cannot be translated."""
        own = routes.of(job.model)
        candidates = distinct([*own.sources, own.require_known("target", job.target)])
        found = self._detect(routes, job.texts, candidates, job.format, job.preferred_languages)
        if found and all(one.other for one in found):
            raise unsupported_source(found[0].other, candidates)
        return found

    def _detect(
        self,
        routes: Routes,
        texts: Sequence[Text],
        candidates: Sequence[str],
        text_format: TextFormat,
        preferred: Sequence[str],
    ) -> Sequence[Detection]:
        expected = [own for code in preferred if (own := routes.known(code))]
        return self._detector.detect_all(_samples(texts, text_format), candidates, expected)


def _samples(texts: Sequence[Text], text_format: TextFormat) -> Iterator[str]:
    for text in texts:
        raise_if_unwanted()
        yield sample_of(text, text_format)


def _no_model() -> NotReady:
    return NotReady("the store of models has none that can be served")


async def _run_all(passages: Sequence[Passage]) -> list[list[TranslationResult]]:
    """Run the passages concurrently; the first failure cancels the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(passage.translate()) for passage in passages]
    except* ServiceError as failed:
        error = failed.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise error


async def _follow(
    detections: _Detections, passages: Sequence[Passage], streams: contextlib.AsyncExitStack
) -> Pieces:
    """The pieces of one passage after the other, then all results."""
    placed: dict[int, TranslationResult] = {}
    for passage in passages:
        async for piece in passage.pieces(streams):
            if isinstance(piece, TextPiece):
                yield piece
            else:
                placed |= zip(passage.work.places, piece, strict=True)
    yield _in_order(placed, detections)


def _in_order(
    placed: Mapping[int, TranslationResult], detections: _Detections
) -> list[TranslationResult]:
    """The results in the order of the texts, with their detections."""
    results = [placed[place] for place in range(len(placed))]
    if not detections:
        return results
    pairs = zip(results, detections, strict=True)
    return [dataclasses.replace(result, detection=found) for result, found in pairs]
