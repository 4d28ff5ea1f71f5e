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
from service.translation.translator import Halfway, TextPiece, TextTranslation, Translator, Work

AUTO = "auto"
Pieces = AsyncGenerator[TextPiece | list[TextTranslation]]


class Decoding(Protocol):
    """How a request wants its texts decoded, given a model's own defaults; raises InvalidField."""

    def final(self, defaults: DecodingOptions) -> DecodingOptions:
        """For the translation itself."""
        ...

    def halfway(self, defaults: DecodingOptions) -> DecodingOptions:
        """For the way to English, which gives one text and nothing is chosen from."""
        ...


@dataclass(frozen=True)
class Job:
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
class _Trip:
    """Those texts of a job that go the same way, and their places among all."""

    places: list[int]
    detections: list[Detection | None]
    route: Route
    work: Work

    @property
    def last(self) -> Translator:
        return self.route[-1].translator

    def placed(
        self, translations: Sequence[TextTranslation], halves: Sequence[Halfway | None]
    ) -> dict[int, TextTranslation]:
        """The translations by their places, with all that is known of them."""
        rows = zip(self.places, translations, self.detections, halves, strict=True)
        return {
            place: dataclasses.replace(translation, detection=detection, through=half)
            for place, translation, detection, half in rows
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

    async def translate(self, job: Job) -> list[TextTranslation]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        trips = self._trips(job)
        with self._counted():
            if len(trips) == 1:
                placed = await self._travel(job, trips[0])
            else:
                placed = await self._travel_all(job, trips)
        return [placed[place] for place in range(len(job.texts))]

    @contextlib.asynccontextmanager
    async def stream(self, job: Job) -> AsyncGenerator[Pieces]:
        """The translations piece by piece, and at the end whole; leaving the block cancels.

        Every text's pieces joined are its translation. Raises as `translate`.
        """
        trips = self._trips(job)
        async with contextlib.AsyncExitStack() as work:
            begun = [await self._begin(trip, work) for trip in trips]
            with self._counted():
                yield self._follow(job, trips, begun, work)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """A job counts as long as any part of it may still want an engine."""
        self.num_in_progress += 1
        try:
            yield
        finally:
            self.num_in_progress -= 1

    async def _begin(self, trip: _Trip, work: contextlib.AsyncExitStack) -> Pieces | None:
        """Start what can be translated directly; of the rest, see that it may come."""
        if len(trip.route) == 1:
            return await work.enter_async_context(trip.last.stream(trip.work))
        for leg in trip.route:
            leg.translator.engine.require_room(1)
        return None

    async def _follow(
        self,
        job: Job,
        trips: Sequence[_Trip],
        begun: Sequence[Pieces | None],
        work: contextlib.AsyncExitStack,
    ) -> Pieces:
        placed: dict[int, TextTranslation] = {}
        for trip, direct in zip(trips, begun, strict=True):
            onward, halves = await self._go_halfway(job, trip, is_admitted=True)
            pieces = direct
            if pieces is None:
                pieces = await work.enter_async_context(trip.last.stream(onward))
            async for piece in pieces:
                if isinstance(piece, TextPiece):
                    yield dataclasses.replace(piece, text_index=trip.places[piece.text_index])
                else:
                    placed |= trip.placed(piece, halves)
        yield [placed[place] for place in range(len(job.texts))]

    async def _travel_all(self, job: Job, trips: Sequence[_Trip]) -> dict[int, TextTranslation]:
        """All at once; the first that fails ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._travel(job, trip)) for trip in trips]
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return {place: t for task in tasks for place, t in task.result().items()}
        raise error

    async def _travel(self, job: Job, trip: _Trip) -> dict[int, TextTranslation]:
        work, halves = await self._go_halfway(job, trip)
        return trip.placed(await trip.last.translate(work), halves)

    async def _go_halfway(
        self, job: Job, trip: _Trip, *, is_admitted: bool = False
    ) -> tuple[Work, list[Halfway | None]]:
        """What is left for the last model, and what the texts have become on the way to it."""
        if len(trip.route) == 1:
            return trip.work, [None] * len(trip.places)
        first, last = trip.route
        if not is_admitted:
            trip.last.engine.require_room(1)
        options = job.decoding.halfway(first.translator.decoding)
        work = dataclasses.replace(
            trip.work,
            source=first.source,
            target=first.target,
            options=options,
            prefixes=(),
            is_admitted=is_admitted,
        )
        halves = [
            Halfway(first.target, half.text, half.model, half.sentences)
            for half in await first.translator.translate(work)
        ]
        texts = [half.text for half in halves]
        onward = dataclasses.replace(trip.work, texts=texts, source=last.source, is_admitted=True)
        return onward, [*halves]

    def _trips(self, job: Job) -> list[_Trip]:
        """The job's texts by the way they go; none if nothing tells where an empty job would go."""
        detections = self._detect(job)
        sources = [job.source if d is None else d.language for d in detections]
        if job.source != AUTO:
            sources = sources or [job.source]
        ends = None if job.deadline_seconds is None else time.monotonic() + job.deadline_seconds
        return [self._trip(job, source, sources, detections, ends) for source in distinct(sources)]

    def _trip(
        self,
        job: Job,
        source: str,
        sources: Sequence[str],
        detections: Sequence[Detection | None],
        ends_seconds: float | None,
    ) -> _Trip:
        """That of the texts whose language is `source`."""
        route = self.route(source, job.target, job.model)
        places = [place for place in range(len(job.texts)) if sources[place] == source]
        last = route[-1]
        work = Work(
            texts=[job.texts[place] for place in places],
            source=last.source,
            target=last.target,
            options=job.decoding.final(last.translator.decoding),
            ends_seconds=ends_seconds,
            prefixes=job.prefixes,
        )
        if len(route) > 1:  # else the only model checks it at once, and with the texts
            last.translator.require_possible(work)
        return _Trip(places, [detections[place] for place in places], route, work)

    def _detect(self, job: Job) -> list[Detection | None]:
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
