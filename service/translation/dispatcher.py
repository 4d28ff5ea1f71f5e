"""Route each text of a job to one model, or to two models through a pivot."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import time
from collections.abc import AsyncGenerator, Iterator, Sequence

from service.errors import ServiceError
from service.translation.glossary_choice import with_glossary
from service.translation.job import AUTO, ModelJob, TextFormat, TranslationJob
from service.translation.language.detection import Detection, LanguageDetector
from service.translation.next_words import NextWords
from service.translation.options import final_options, pivot_options
from service.translation.results import PivotTranslation, TextPiece, TranslationResult
from service.translation.routing import (
    Route,
    distinct,
    find_route,
    named,
    require_known,
    require_route,
)
from service.translation.text.parsing import sample_of
from service.translation.text_work import num_characters, text_work
from service.translation.translator import Pieces, Translator

_RoutedJob = tuple[Route, ModelJob]
"""A route, and the job of its last model; with two hops, that job still has the source texts."""


class Dispatcher:
    """Routes each text to the first model that has its pair, or to two through a pivot."""

    def __init__(self, translators: Sequence[Translator], max_beam_size: int) -> None:
        """`max_beam_size`: the largest that a job may ask for."""
        self._translators = list(translators)
        self._max_beam_size = max_beam_size
        self.default_beam_size = max(t.decoding.beam_size for t in translators)
        self.num_in_progress = 0
        self._detector = LanguageDetector()
        self.languages = distinct(code for t in translators for code in t.languages)

    @functools.cached_property
    def targets(self) -> dict[str, list[str]]:
        """The other languages that each language has a route to."""
        return {
            source: [
                target
                for target in self.languages
                if target != source and find_route(source, target, self._translators)
            ]
            for source in self.languages
        }

    def refusal(self, num_sentences: int = 1) -> ServiceError | None:
        """An error if no model can accept so many more sentences now, else None."""
        refusals = [translator.engine.refusal(num_sentences) for translator in self._translators]
        return refusals[0] if all(refusals) else None

    def known_language(self, field: str, code: str) -> str:
        """The first model's own code for a language; UnsupportedLanguage names the field."""
        return require_known(field, code, self._translators)

    def route(self, source: str, target: str, model: str | None = None) -> Route:
        """One hop, or two if no model has the pair. Codes in any spelling, but not "auto".

        Raises UnsupportedLanguage if there is no route, and InvalidField for an unknown model.
        """
        return require_route(source, target, self._named(model))

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
        codes = candidates or self.languages
        expected = [own for code in preferred if (own := self._find(code))]
        samples = (sample_of(text, text_format) for text in texts)
        return await text_work(
            num_characters(texts), lambda: self._detector.detect_all(samples, codes, expected)
        )

    async def detect_source(self, job: TranslationJob) -> str:
        """The language of the job's only text, among those that have a route to its target."""
        (found,) = await self._detect_sources(job)
        return job.source if found is None else found.language

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        with self.in_progress():
            routed = await self._route_all(job)
            placed: dict[int, TranslationResult] = {}
            for (_, work), results in zip(routed, await self._run_all(job, routed), strict=True):
                placed |= zip(work.places, results, strict=True)
        return [placed[place] for place in range(len(job.texts))]

    async def next_words(self, job: TranslationJob, prefix: str, count: int) -> NextWords:
        """The likeliest next words after `prefix`, of the job's only text."""
        with self.in_progress():
            ((route, work),) = await self._route_all(job)
            if len(route) > 1:
                work = await self._translate_to_pivot(job, route, work)
            return await route[-1].translator.next_words(work, prefix, count)

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`.
        """
        with self.in_progress():
            routed = await self._route_all(job)
            async with contextlib.AsyncExitStack() as streams:
                begun = [await self._begin(route, work, streams) for route, work in routed]
                yield self._follow(job, routed, begun, streams)

    @contextlib.contextmanager
    def in_progress(self) -> Iterator[None]:
        """Count a job as in progress while it may still use an engine."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _run_all(
        self, job: TranslationJob, routed: Sequence[_RoutedJob]
    ) -> list[list[TranslationResult]]:
        """Run the routes concurrently; the first failure cancels the others."""
        if len(routed) == 1:
            return [await self._run(job, *routed[0])]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run(job, *one)) for one in routed]
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return [task.result() for task in tasks]
        raise error

    async def _run(
        self, job: TranslationJob, route: Route, work: ModelJob
    ) -> list[TranslationResult]:
        if len(route) > 1:
            if not work.is_admitted:
                route[-1].translator.engine.require_room(1)
            work = await self._translate_to_pivot(job, route, work)
        return await route[-1].translator.translate(work)

    async def _begin(
        self, route: Route, work: ModelJob, streams: contextlib.AsyncExitStack
    ) -> Pieces | None:
        """Start the stream of a one-hop route; for two hops only check that both have room."""
        if len(route) == 1:
            return await streams.enter_async_context(route[0].translator.stream(work))
        for hop in route:
            hop.translator.engine.require_room(1)
        return None

    async def _follow(
        self,
        job: TranslationJob,
        routed: Sequence[_RoutedJob],
        begun: Sequence[Pieces | None],
        streams: contextlib.AsyncExitStack,
    ) -> Pieces:
        placed: dict[int, TranslationResult] = {}
        for (route, work), pieces in zip(routed, begun, strict=True):
            if pieces is None:
                admitted = dataclasses.replace(work, is_admitted=True)
                onward = await self._translate_to_pivot(job, route, admitted)
                pieces = await streams.enter_async_context(route[-1].translator.stream(onward))
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    yield piece
                else:
                    placed |= zip(work.places, piece, strict=True)
        yield [placed[place] for place in range(len(job.texts))]

    async def _translate_to_pivot(
        self, job: TranslationJob, route: Route, work: ModelJob
    ) -> ModelJob:
        """Translate the texts with the first model -> the job of the second."""
        first = route[0]
        options = pivot_options(job, first.translator.decoding, self._max_beam_size)
        to_pivot = dataclasses.replace(
            work,
            source=first.source,
            target=first.target,
            options=options,
            prefixes=(),
            is_aligned=False,
            inspection=None,
        )
        pivots = [
            PivotTranslation(first.target, result.text, result.model, result.sentences)
            for result in await first.translator.translate(to_pivot)
        ]
        return dataclasses.replace(
            work, texts=[pivot.text for pivot in pivots], pivots=pivots, is_admitted=True
        )

    async def _route_all(self, job: TranslationJob) -> list[_RoutedJob]:
        """The job's texts by route; no routes for an empty job with source "auto"."""
        ends = None if job.deadline_seconds is None else time.monotonic() + job.deadline_seconds
        detections = await self._detect_sources(job)
        sources = [job.source if d is None else d.language for d in detections]
        if job.source != AUTO:
            sources = sources or [job.source]
        routed = [
            self._routed(job, source, sources, detections, ends) for source in distinct(sources)
        ]
        if job.glossary is not None:
            routed = [(route, with_glossary(work, route, job.glossary)) for route, work in routed]
        for route, work in routed:
            if len(route) > 1:  # with one hop the model itself checks, with the texts
                await route[-1].translator.require_possible(work)
        return routed

    def _routed(
        self,
        job: TranslationJob,
        source: str,
        sources: Sequence[str],
        detections: Sequence[Detection | None],
        ends_seconds: float | None,
    ) -> _RoutedJob:
        """The texts whose language is `source`."""
        route = self.route(source, job.target, job.model)
        places = [place for place in range(len(job.texts)) if sources[place] == source]
        last = route[-1]
        return route, ModelJob(
            texts=[job.texts[place] for place in places],
            source=last.source,
            target=last.target,
            options=final_options(job, last.translator.decoding, self._max_beam_size),
            places=places,
            detections=[detections[place] for place in places],
            pivots=[None] * len(places),
            ends_seconds=ends_seconds,
            prefixes=job.prefixes,
            is_aligned=job.is_aligned,
            inspection=job.inspection,
            is_checked=job.is_checked,
            is_admitted=job.is_admitted,
            format=job.format,
            keep=job.keep,
            split_sentences=job.split_sentences,
        )

    async def _detect_sources(self, job: TranslationJob) -> Sequence[Detection | None]:
        """The language of each text if the source is "auto", else None."""
        if job.source != AUTO:
            return [None] * len(job.texts)
        translators = self._named(job.model)
        target = require_known("target", job.target, translators)
        candidates = distinct([*(code for t in translators for code in t.sources), target])
        return await self.detect(job.texts, candidates, job.format, job.preferred_languages)

    def _find(self, code: str) -> str | None:
        """The first model's own code for the language."""
        return next((own for t in self._translators if (own := t.find(code))), None)

    def _named(self, model: str | None) -> list[Translator]:
        """The model of that name, or all for None."""
        return self._translators if model is None else named(model, self._translators)
