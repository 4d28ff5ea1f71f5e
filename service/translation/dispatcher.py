"""Route each text of a job to one model, or to two models through a pivot."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.decoding.options import DecodingOptions
from service.errors import ServiceError
from service.translation.detection import Detection, LanguageDetector
from service.translation.routing import (
    Route,
    distinct,
    find_route,
    named,
    require_known,
    require_route,
)
from service.translation.translator import (
    ModelJob,
    PivotTranslation,
    TextPiece,
    TranslationResult,
    Translator,
)

AUTO = "auto"
Pieces = AsyncGenerator[TextPiece | list[TranslationResult]]


class Decoding(Protocol):
    """A request's decoding options, given a model's defaults; raises InvalidField."""

    def final(self, defaults: DecodingOptions) -> DecodingOptions:
        """The options of the last hop."""
        ...

    def pivot(self, defaults: DecodingOptions) -> DecodingOptions:
        """The options of the hop to the pivot, which gives one text without alternatives."""
        ...


@dataclass(frozen=True)
class TranslationJob:
    """What to translate and how. `prefixes`: required beginnings of the first sentences'
    translations; `deadline_seconds`: from the job's start, None is no deadline; `model`: the only
    model allowed, None is any."""

    texts: Sequence[str]
    source: str
    target: str
    decoding: Decoding
    deadline_seconds: float | None = None
    prefixes: Sequence[str] = ()
    model: str | None = None


@dataclass(frozen=True)
class _RoutedTexts:
    """The texts of a job that share a route, and their places in the job."""

    places: list[int]
    detections: list[Detection | None]
    route: Route
    work: ModelJob

    @property
    def last(self) -> Translator:
        return self.route[-1].translator

    def placed(
        self, translations: Sequence[TranslationResult], pivots: Sequence[PivotTranslation | None]
    ) -> dict[int, TranslationResult]:
        """The translations by place, with detections and pivots."""
        rows = zip(self.places, translations, self.detections, pivots, strict=True)
        return {
            place: dataclasses.replace(translation, detection=detection, pivot=pivot)
            for place, translation, detection, pivot in rows
        }


class Dispatcher:
    """Routes each text to the first model that has its pair, or to two through a pivot."""

    def __init__(self, translators: Sequence[Translator]) -> None:
        self._translators = list(translators)
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

    def refusal(self) -> ServiceError | None:
        """An error if no model can accept another sentence now, else None."""
        refusals = [translator.engine.refusal() for translator in self._translators]
        return refusals[0] if all(refusals) else None

    def route(self, source: str, target: str, model: str | None = None) -> Route:
        """One hop, or two if no model has the pair. Codes in any spelling, but not "auto".

        Raises UnsupportedLanguage if there is no route, and InvalidField for an unknown model.
        """
        return require_route(source, target, self._named(model))

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        groups = self._group_by_route(job)
        with self._counted():
            if len(groups) == 1:
                placed = await self._translate_group(job, groups[0])
            else:
                placed = await self._translate_groups(job, groups)
        return [placed[place] for place in range(len(job.texts))]

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`.
        """
        groups = self._group_by_route(job)
        async with contextlib.AsyncExitStack() as work:
            begun = [await self._begin(routed, work) for routed in groups]
            with self._counted():
                yield self._follow(job, groups, begun, work)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the job as in progress while it may still use an engine."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _begin(self, routed: _RoutedTexts, work: contextlib.AsyncExitStack) -> Pieces | None:
        """Start the stream of a one-hop route; for two hops only check that both have room."""
        if len(routed.route) == 1:
            return await work.enter_async_context(routed.last.stream(routed.work))
        for hop in routed.route:
            hop.translator.engine.require_room(1)
        return None

    async def _follow(
        self,
        job: TranslationJob,
        groups: Sequence[_RoutedTexts],
        begun: Sequence[Pieces | None],
        work: contextlib.AsyncExitStack,
    ) -> Pieces:
        placed: dict[int, TranslationResult] = {}
        for routed, direct in zip(groups, begun, strict=True):
            onward, pivots = await self._translate_to_pivot(job, routed, is_admitted=True)
            pieces = direct
            if pieces is None:
                pieces = await work.enter_async_context(routed.last.stream(onward))
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    yield dataclasses.replace(piece, text_index=routed.places[piece.text_index])
                else:
                    placed |= routed.placed(piece, pivots)
        yield [placed[place] for place in range(len(job.texts))]

    async def _translate_groups(
        self, job: TranslationJob, groups: Sequence[_RoutedTexts]
    ) -> dict[int, TranslationResult]:
        """Translate all groups concurrently; the first failure cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._translate_group(job, routed)) for routed in groups]
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return {place: t for task in tasks for place, t in task.result().items()}
        raise error

    async def _translate_group(
        self, job: TranslationJob, routed: _RoutedTexts
    ) -> dict[int, TranslationResult]:
        work, pivots = await self._translate_to_pivot(job, routed)
        return routed.placed(await routed.last.translate(work), pivots)

    async def _translate_to_pivot(
        self, job: TranslationJob, routed: _RoutedTexts, *, is_admitted: bool = False
    ) -> tuple[ModelJob, list[PivotTranslation | None]]:
        """The job for the last model, and the texts' pivot translations."""
        if len(routed.route) == 1:
            return routed.work, [None] * len(routed.places)
        first, last = routed.route
        if not is_admitted:
            routed.last.engine.require_room(1)
        options = job.decoding.pivot(first.translator.decoding)
        work = dataclasses.replace(
            routed.work,
            source=first.source,
            target=first.target,
            options=options,
            prefixes=(),
            is_admitted=is_admitted,
        )
        pivots = [
            PivotTranslation(first.target, pivot.text, pivot.model, pivot.sentences)
            for pivot in await first.translator.translate(work)
        ]
        texts = [pivot.text for pivot in pivots]
        onward = dataclasses.replace(routed.work, texts=texts, source=last.source, is_admitted=True)
        return onward, [*pivots]

    def _group_by_route(self, job: TranslationJob) -> list[_RoutedTexts]:
        """The job's texts by route; no groups for an empty job with source "auto"."""
        detections = self._detect(job)
        sources = [job.source if d is None else d.language for d in detections]
        if job.source != AUTO:
            sources = sources or [job.source]
        ends = None if job.deadline_seconds is None else time.monotonic() + job.deadline_seconds
        return [
            self._routed(job, source, sources, detections, ends) for source in distinct(sources)
        ]

    def _routed(
        self,
        job: TranslationJob,
        source: str,
        sources: Sequence[str],
        detections: Sequence[Detection | None],
        ends_seconds: float | None,
    ) -> _RoutedTexts:
        """The group of the texts whose language is `source`."""
        route = self.route(source, job.target, job.model)
        places = [place for place in range(len(job.texts)) if sources[place] == source]
        last = route[-1]
        work = ModelJob(
            texts=[job.texts[place] for place in places],
            source=last.source,
            target=last.target,
            options=job.decoding.final(last.translator.decoding),
            ends_seconds=ends_seconds,
            prefixes=job.prefixes,
        )
        if len(route) > 1:  # with one hop the model itself checks, with the texts
            last.translator.require_possible(work)
        return _RoutedTexts(places, [detections[place] for place in places], route, work)

    def _detect(self, job: TranslationJob) -> list[Detection | None]:
        """The language of each text if the source is "auto", else None."""
        if job.source != AUTO:
            return [None] * len(job.texts)
        translators = self._named(job.model)
        target = require_known("target", job.target, translators)
        candidates = distinct([*(code for t in translators for code in t.sources), target])
        return [self._detector.detect(text, candidates) for text in job.texts]

    def _named(self, model: str | None) -> list[Translator]:
        """The model of that name, or all for None."""
        return self._translators if model is None else named(model, self._translators)
