"""The texts of a job that share a route, on their way through its one model or two."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Sequence

from service.translation.assembly import Assembly
from service.translation.job import ModelJob
from service.translation.options import pivot_options
from service.translation.results import (
    Pivot,
    TextPiece,
    TranslationResult,
    with_pivots,
)
from service.translation.routing import Route
from service.translation.study.next_words import NextWords
from service.translation.text_work import num_characters, text_work
from service.translation.translator import Pieces, Translator


class Passage:
    """Takes the texts of `work`, the job of the last model, through the models of a route. With two
    models the work still has the source texts."""

    def __init__(
        self, route: Route, work: ModelJob, translators: Sequence[Translator], max_beam_size: int
    ) -> None:
        """`translators`: those of the route's models; `max_beam_size`: of any job."""
        self.work = work
        self._route, self._max_beam_size = route, max_beam_size
        self._first, self._last = translators[0], translators[-1]
        self._is_direct = len(route) == 1
        self._begun: Pieces | None = None

    def prepare(self) -> None:
        """Cut and tokenise the texts for the first model. With two, check that both have room,
        since a stream begins the second late. Any thread may call it. Raises a ServiceError."""
        if self._is_direct:
            self._assembly = self._first.prepare(self.work)
            return
        self._last.require_possible(self.work)
        self._last.require_room(self.work)
        self._first.require_room(self.work)
        job = dataclasses.replace(
            self.work.job,
            prefixes=(),
            is_aligned=False,
            inspection=None,
            ticket=self.work.job.ticket.to_pivot(),
        )
        hop = self._route[0]
        codes = hop.model.network_codes
        source, target = codes[hop.source], codes[hop.target]
        options = pivot_options(job, hop.model.decoding, self._max_beam_size)
        to_pivot = dataclasses.replace(
            self.work,
            job=job,
            source=source,
            target=target,
            options=options,
            is_traditional=target != hop.target,
            reads_traditional=source != hop.source,
        )
        self._assembly = self._first.prepare(to_pivot)

    async def translate(self) -> list[TranslationResult]:
        """Translate the texts, which are prepared. Raises a ServiceError."""
        if self._is_direct:
            return await self._first.translate(self._assembly)
        last, pivots = await self._prepare_last()
        return with_pivots(await self._last.translate(last), pivots)

    async def next_words(self, prefix: str, count: int) -> NextWords:
        """The likeliest next words after `prefix`, of the only text."""
        if self._is_direct:
            return await self._last.next_words(self.work, prefix, count)
        await text_work(num_characters(self.work.texts), self.prepare, self.work.job.ticket)
        work, _ = await self._translate_to_pivot()
        return await self._last.next_words(work, prefix, count)

    async def begin(self, streams: contextlib.AsyncExitStack) -> None:
        """Begin the stream of the first model if its text is what is asked for."""
        if self._is_direct:
            self._begun = await streams.enter_async_context(self._first.stream(self._assembly))

    async def pieces(self, streams: contextlib.AsyncExitStack) -> Pieces:
        """The translations in pieces, then all results."""
        pieces, pivots = self._begun, list[Pivot | None]([None] * len(self.work.texts))
        if pieces is None:
            last, pivots[:] = await self._prepare_last()
            pieces = await streams.enter_async_context(self._last.stream(last))
        async for piece in pieces:
            yield piece if isinstance(piece, TextPiece) else with_pivots(piece, pivots)

    async def _prepare_last(self) -> tuple[Assembly, Sequence[Pivot]]:
        """Translate the texts with the first model, and prepare the translations for the last."""
        work, pivots = await self._translate_to_pivot()
        prepare = functools.partial(self._last.prepare, work)
        return await text_work(num_characters(work.texts), prepare, work.job.ticket), pivots

    async def _translate_to_pivot(self) -> tuple[ModelJob, Sequence[Pivot]]:
        """Translate the texts with the first model -> the job of the last."""
        results = await self._first.translate(self._assembly)
        pivots = [Pivot.of(self._route[0].target, result) for result in results]
        job = dataclasses.replace(self.work.job, ticket=self.work.job.ticket.admitted())
        texts = [result.written for result in results]
        return dataclasses.replace(self.work, job=job, texts=texts), pivots
