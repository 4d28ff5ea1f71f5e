"""Sends each text of a job on its way: to one model, or to two that have its pair together."""

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
    """How a request wants its texts decoded, given a model's own defaults; raises InvalidField."""

    def final(self, defaults: DecodingOptions) -> DecodingOptions:
        """For the translation itself."""
        ...

    def pivot(self, defaults: DecodingOptions) -> DecodingOptions:
        """For the way to English, which gives one text and nothing is chosen from."""
        ...


@dataclass(frozen=True)
class TranslationJob:
    """What to translate and how. `prefixes` are how the translations of the first sentences must
    begin; `deadline_seconds` counts from the job's start, None is no deadline; `model`: the only
    one that may do it, None is any."""

    texts: Sequence[str]
    source: str
    target: str
    decoding: Decoding
    deadline_seconds: float | None = None
    prefixes: Sequence[str] = ()
    model: str | None = None


@dataclass(frozen=True)
class _RoutedTexts:
    """Those texts of a job that go the same way, and their places among all."""

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
        """The translations by their places, with all that is known of them."""
        rows = zip(self.places, translations, self.detections, pivots, strict=True)
        return {
            place: dataclasses.replace(translation, detection=detection, pivot=pivot)
            for place, translation, detection, pivot in rows
        }


class Dispatcher:
    """Sends each text to the first model that has its pair, or to two that have it together."""

    def __init__(self, translators: Sequence[Translator]) -> None:
        self._translators = list(translators)
        self.num_in_progress = 0
        self._detector = LanguageDetector()
        self.languages = distinct(code for t in translators for code in t.languages)

    @functools.cached_property
    def targets(self) -> dict[str, list[str]]:
        """What each language can be translated into, through English if need be; not itself."""
        return {
            source: [
                target
                for target in self.languages
                if target != source and find_route(source, target, self._translators)
            ]
            for source in self.languages
        }

    def refusal(self) -> ServiceError | None:
        """Why no model at all could take one more sentence now."""
        refusals = [translator.engine.refusal() for translator in self._translators]
        return refusals[0] if all(refusals) else None

    def route(self, source: str, target: str, model: str | None = None) -> Route:
        """One leg, or two if no model has the pair. Codes in any spelling, but not "auto".

        Raises UnsupportedLanguage if there is no way, and InvalidField for an unknown model.
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
        """The translations piece by piece, and at the end whole; leaving the block cancels.

        Every text's pieces joined are its translation. Raises as `translate`.
        """
        groups = self._group_by_route(job)
        async with contextlib.AsyncExitStack() as work:
            begun = [await self._begin(routed, work) for routed in groups]
            with self._counted():
                yield self._follow(job, groups, begun, work)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """A job counts as long as any part of it may still want an engine."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _begin(self, routed: _RoutedTexts, work: contextlib.AsyncExitStack) -> Pieces | None:
        """Start what can be translated directly; of the rest, see that it may come."""
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
        """All at once; the first that fails ends the others."""
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
        """What is left for the last model, and what the texts have become on the way to it."""
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
        """The job's texts by the way they go; none if nothing tells where an empty job would go."""
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
        """That of the texts whose language is `source`."""
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
        if len(route) > 1:  # else the only model checks it at once, and with the texts
            last.translator.require_possible(work)
        return _RoutedTexts(places, [detections[place] for place in places], route, work)

    def _detect(self, job: TranslationJob) -> list[Detection | None]:
        """The language of each text, if that was asked for."""
        if job.source != AUTO:
            return [None] * len(job.texts)
        translators = self._named(job.model)
        target = require_known("target", job.target, translators)
        candidates = distinct([*(code for t in translators for code in t.sources), target])
        return [self._detector.detect(text, candidates) for text in job.texts]

    def _named(self, model: str | None) -> list[Translator]:
        """The model of that name; all without one."""
        return self._translators if model is None else named(model, self._translators)
