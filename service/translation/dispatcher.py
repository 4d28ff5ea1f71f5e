"""Route each text of a job to one model, or to two through a pivot, and have them in memory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import NamedTuple

from service.errors import NotReady, ServiceError
from service.translation.assembly import Assembly
from service.translation.job import AUTO, ModelJob, TextFormat, TranslationJob
from service.translation.language.detection import Detection, LanguageDetector
from service.translation.leases import Leases, ModelChanged
from service.translation.options import final_options, pivot_options
from service.translation.preparation import sample_of
from service.translation.results import (
    PivotTranslation,
    TextPiece,
    TranslationResult,
    in_order,
    with_pivots,
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
from service.translation.text_work import go_on, num_characters, text_work
from service.translation.translator import Pieces, Translator

_RoutedJob = tuple[Route, ModelJob]
"""A route, and the job of its last model; with two hops, that job still has the source texts."""
_Detections = Sequence[Detection | None]


class _Prepared(NamedTuple):
    """The texts of a job that share a route, prepared for its first model; `translators` are those
    of its models."""

    translators: Sequence[Translator]
    route: Route
    work: ModelJob
    assembly: Assembly


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
    def languages(self) -> Sequence[str]:
        return self.routes.languages

    @property
    def targets(self) -> dict[str, list[str]]:
        """The other languages that each language has a route to."""
        return self.routes.targets

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
        detect = functools.partial(self._detect_sources, self._current_routes(), job)
        (found,) = await text_work(num_characters(job.texts), detect, job.ticket)
        return job.source if found is None else found.language

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        async with self._leasing() as leases:
            detections, prepared = await self._prepare(job, leases)
            placed: dict[int, TranslationResult] = {}
            for one, results in zip(prepared, await self._run_all(prepared), strict=True):
                placed |= zip(one.work.places, results, strict=True)
        return in_order(placed, detections)

    async def next_words(self, job: TranslationJob, prefix: str, count: int) -> NextWords:
        """The likeliest next words after `prefix`, of the job's only text."""
        async with self._leasing() as leases:
            size = num_characters([*job.texts, prefix])
            _, ((route, work),), translators = await self._route_and_lease(job, size, leases)
            if len(route) > 1:
                first = functools.partial(self._prepare_first, translators, route, work)
                assembly = await text_work(size, first, job.ticket)
                work, _ = await _translate_to_pivot(_Prepared(translators, route, work, assembly))
            return await translators[-1].next_words(work, prefix, count)

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`. The models are leased
        until the engines have done their work; pieces that are not taken by then wait.
        """
        job = dataclasses.replace(job, ticket=job.ticket.streamed())
        with self.in_progress():
            async with contextlib.AsyncExitStack() as streams:
                detections, prepared = await self._prepare(job, streams)
                begun = [
                    await streams.enter_async_context(one.translators[0].stream(one.assembly))
                    if len(one.route) == 1
                    else None
                    for one in prepared
                ]
                work = streams.pop_all()
            pieces = self._follow(detections, prepared, begun, work)
            async with buffered(pieces, work) as taken:
                yield taken

    @contextlib.asynccontextmanager
    async def _leasing(self) -> AsyncGenerator[contextlib.AsyncExitStack]:
        """The leases of a job in progress, which end with the block."""
        with self.in_progress():
            async with contextlib.AsyncExitStack() as leases:
                yield leases

    @contextlib.contextmanager
    def in_progress(self) -> Iterator[None]:
        """Count a job as in progress while it may still use an engine, or is read."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _run_all(self, prepared: Sequence[_Prepared]) -> list[list[TranslationResult]]:
        """Run the routes concurrently; the first failure cancels the others."""
        if len(prepared) == 1:
            return [await _run(prepared[0])]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_run(one)) for one in prepared]
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return [task.result() for task in tasks]
        raise error

    async def _follow(
        self,
        detections: _Detections,
        prepared: Sequence[_Prepared],
        begun: Sequence[Pieces | None],
        streams: contextlib.AsyncExitStack,
    ) -> Pieces:
        placed: dict[int, TranslationResult] = {}
        for one, pieces in zip(prepared, begun, strict=True):
            pivots: Sequence[PivotTranslation | None] = [None] * len(one.work.texts)
            if pieces is None:
                last, pivots = await _prepare_last(one)
                translator = one.translators[-1]
                pieces = await streams.enter_async_context(translator.stream(last))
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    yield piece
                else:
                    placed |= zip(one.work.places, with_pivots(piece, pivots), strict=True)
        yield in_order(placed, detections)

    async def _prepare(
        self, job: TranslationJob, leases: contextlib.AsyncExitStack
    ) -> tuple[_Detections, list[_Prepared]]:
        """Detect, route, have the models in memory, cut and tokenise the texts."""
        size = num_characters(job.texts) if job.source == AUTO else 0
        detections, routed, found = await self._route_and_lease(job, size, leases)
        leased = iter(found)
        translators = [[next(leased) for _ in route] for route, _ in routed]
        terms = [entry.source for entry in job.glossary.entries] if job.glossary else []

        def prepare() -> list[_Prepared]:
            return [
                _Prepared(own, route, work, self._prepare_first(own, route, work))
                for own, (route, work) in zip(translators, routed, strict=True)
            ]

        size = num_characters([*job.texts, *job.prefixes, *terms])
        return detections, await text_work(size, prepare, job.ticket)

    def _prepare_first(
        self, translators: Sequence[Translator], route: Route, work: ModelJob
    ) -> Assembly:
        """The texts, prepared for the first model of their route. With two, this checks that both
        have room, since a stream begins the second late."""
        first, last = translators[0], translators[-1]
        if len(route) == 1:
            return first.prepare(work)
        last.require_possible(work)
        last.require_room(work)
        first.require_room(work)
        job = dataclasses.replace(
            work.job,
            prefixes=(),
            is_aligned=False,
            inspection=None,
            ticket=work.ticket.to_pivot(),
        )
        options = pivot_options(job, route[0].model.decoding, self._max_beam_size)
        to_pivot = dataclasses.replace(
            work, job=job, source=route[0].source, target=route[0].target, options=options
        )
        return first.prepare(to_pivot)

    async def _route_and_lease(
        self, job: TranslationJob, size: int, leases: contextlib.AsyncExitStack
    ) -> tuple[_Detections, list[_RoutedJob], list[Translator]]:
        """Route the job and lease the models of its hops, in order. `size`: the characters of what
        routing reads. If models change before all are leased, the job is routed again."""
        while True:
            routes = self._current_routes()
            work = functools.partial(self._route_all, routes, job)
            detections, routed = await text_work(size, work, job.ticket)
            if routes is not self.routes:
                continue
            names = [hop.model.name for route, _ in routed for hop in route]
            lease = self._pool.lease(names, job.ticket)
            with contextlib.suppress(ModelChanged):
                return detections, routed, await leases.enter_async_context(lease)

    def _route_all(
        self, routes: Routes, job: TranslationJob
    ) -> tuple[_Detections, list[_RoutedJob]]:
        """The job's texts by route; no routes for an empty job with source "auto"."""
        detections = self._detect_sources(routes, job)
        sources = [job.source if d is None else d.language for d in detections]
        if job.source != AUTO:
            sources = sources or [job.source]
        return detections, [
            self._routed(routes, job, source, sources) for source in distinct(sources)
        ]

    def _routed(
        self,
        routes: Routes,
        job: TranslationJob,
        source: str,
        sources: Sequence[str],
    ) -> _RoutedJob:
        """The texts whose language is `source`."""
        route = routes.of(job.model).require(source, job.target)
        if job.glossary is not None:
            require_glossary(job.glossary, route)
        places = [place for place in range(len(job.texts)) if sources[place] == source]
        last = route[-1]
        options = final_options(job, last.model.decoding, self._max_beam_size)
        texts = [job.texts[place] for place in places]
        return route, ModelJob(job, texts, places, last.source, last.target, options)

    def _detect_sources(self, routes: Routes, job: TranslationJob) -> _Detections:
        """The language of each text if the source is "auto", else None. UnsupportedLanguage if
        every text is likely in a language that cannot be translated."""
        if job.source != AUTO:
            return [None] * len(job.texts)
        own = routes.of(job.model)
        candidates = distinct([*own.sources, own.require_known("target", job.target)])
        found = self._detect(routes, job.texts, candidates, job.format, job.preferred_languages)
        if found and all(one.other for one in found):
            raise unsupported_source(found[0].other, candidates)
        return found

    def _detect(
        self,
        routes: Routes,
        texts: Sequence[str],
        candidates: Sequence[str],
        text_format: TextFormat,
        preferred: Sequence[str],
    ) -> Sequence[Detection]:
        expected = [own for code in preferred if (own := routes.known(code))]
        return self._detector.detect_all(_samples(texts, text_format), candidates, expected)


def _samples(texts: Sequence[str], text_format: TextFormat) -> Iterator[str]:
    for text in texts:
        go_on()
        yield sample_of(text, text_format)


def _no_model() -> NotReady:
    return NotReady("the store of models has none that can be served")


async def _run(prepared: _Prepared) -> list[TranslationResult]:
    if len(prepared.route) == 1:
        return await prepared.translators[0].translate(prepared.assembly)
    last, pivots = await _prepare_last(prepared)
    return with_pivots(await prepared.translators[-1].translate(last), pivots)


async def _prepare_last(
    prepared: _Prepared,
) -> tuple[Assembly, Sequence[PivotTranslation]]:
    """Translate the texts with the first model, and prepare the translations for the second."""
    work, pivots = await _translate_to_pivot(prepared)
    prepare = functools.partial(prepared.translators[-1].prepare, work)
    assembly = await text_work(num_characters(work.texts), prepare, work.ticket)
    return assembly, pivots


async def _translate_to_pivot(
    prepared: _Prepared,
) -> tuple[ModelJob, Sequence[PivotTranslation]]:
    """Translate the texts with the first model -> the job of the second."""
    first = prepared.route[0]
    pivots = [
        PivotTranslation(first.target, result.text, result.model, result.sentences)
        for result in await prepared.translators[0].translate(prepared.assembly)
    ]
    job = dataclasses.replace(prepared.work.job, ticket=prepared.work.ticket.admitted())
    texts = [pivot.text for pivot in pivots]
    return dataclasses.replace(prepared.work, job=job, texts=texts), pivots
