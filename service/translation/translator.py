"""Translate the texts of a job with one model: prepare, decode in the engine, assemble."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.decoding.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.sentence_limits import SentenceLimits
from service.engine.sentence_engine import SentenceEngine
from service.engine.sentence_task import SentenceOutcome
from service.translation.assembly import Assembly
from service.translation.job import ModelJob
from service.translation.preparation import Preparation
from service.translation.results import TextPiece, TranslationResult
from service.translation.streaming import JobStream
from service.translation.study.inspection import InspectedModel, Inspector
from service.translation.study.next_words import NextWordFinder, NextWords
from service.translation.text_work import num_characters, text_work

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

Pieces = AsyncGenerator[TextPiece | list[TranslationResult]]


@dataclass(frozen=True)
class TranslationModel:
    """What translation needs of a model besides its engine.

    `own_codes` maps other codes to the languages of `pairs`. `decoding` holds the model's defaults.
    `confidence` has the pairs that are calibrated.
    """

    name: str
    pairs: Sequence[tuple[str, str]]
    own_codes: Mapping[str, str]
    decoding: DecodingOptions
    tokenizer: Tokenizer
    max_source_tokens: int
    inspected: InspectedModel
    confidence: Mapping[tuple[str, str], Calibration]


class Translator:
    """Translates texts between the pairs of one model in memory."""

    def __init__(self, model: TranslationModel, engine: SentenceEngine) -> None:
        self.name, self.engine = model.name, engine
        self._tokenizer, self._confidence = model.tokenizer, model.confidence
        limits = SentenceLimits(
            model.max_source_tokens, engine.max_target_tokens, engine.max_beam_size
        )
        self._preparation = functools.partial(Preparation, model.tokenizer, limits)
        """That of a job's texts."""
        self._inspector = Inspector(model.inspected, model.tokenizer, engine.max_target_tokens)

    def require_room(self, work: ModelJob) -> None:
        """Raise a ServiceError if the engine would refuse any sentence."""
        if work.job.ticket.is_admitted:
            self.engine.require_running()
        else:
            self.engine.require_room(1 if any(work.texts) else 0, client=work.job.ticket.client)

    def require_possible(self, work: ModelJob) -> None:
        """Raise InvalidField if the prefixes are invalid for any text; any thread may call it.

        `prepare` also checks them against the texts.
        """
        self._preparation(work).require_possible()

    def prepare(self, work: ModelJob) -> Assembly:
        """Cut and tokenise the texts. Any thread may call it."""
        preparation = self._preparation(work)
        documents, entries = preparation.prepare()
        calibration = self._confidence.get((work.source, work.target))
        assembly = Assembly(preparation, documents, entries, self.name, calibration)
        if work.job.inspection:
            self._inspector.require_possible(work.job.inspection, assembly.sources)
        return assembly

    async def translate(self, assembly: Assembly) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        work = assembly.work
        outcomes = await self.engine.translate(assembly.sources, work.job.ticket)
        size = num_characters(work.texts) * work.options.n_best
        results = await text_work(size, lambda: assembly.read(outcomes), work.job.ticket)
        if assembly.again:
            await self._mend(assembly, outcomes)
            results = await text_work(size, assembly.results, work.job.ticket)
        if work.job.inspection is not None:
            results = await self._inspector.inspected(work, assembly.sources, results)
        return results

    async def next_words(self, work: ModelJob, prefix: str, count: int) -> NextWords:
        """The likeliest words after the beginning of the translation of the job's only text."""
        finder = NextWordFinder(self.engine, self._tokenizer, self._preparation, self._texts_of)
        return await finder.find(work, prefix, count)

    async def _texts_of(self, work: ModelJob) -> list[str]:
        size = num_characters(work.texts)
        assembly = await text_work(size, lambda: self.prepare(work), work.job.ticket)
        return [result.text for result in await self.translate(assembly)]

    @contextlib.asynccontextmanager
    async def stream(self, assembly: Assembly) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`.
        """
        work = assembly.work
        async with self.engine.stream(assembly.sources, work.job.ticket) as updates:
            stream = await text_work(
                num_characters(work.texts),
                lambda: JobStream(assembly, self._tokenizer, self._read_streamed),
            )
            async with contextlib.aclosing(stream.pieces(updates)) as pieces:
                yield self._follow(assembly, pieces)

    async def _follow(self, assembly: Assembly, pieces: AsyncGenerator[TextPiece]) -> Pieces:
        async for piece in pieces:
            yield piece
        work = assembly.work
        size = num_characters(work.texts) * work.options.n_best
        results = await text_work(size, assembly.results, work.job.ticket)
        if work.job.inspection is not None:
            results = await self._inspector.inspected(work, assembly.sources, results)
        yield results

    async def _read_streamed(
        self, assembly: Assembly, number: int, outcome: SentenceOutcome
    ) -> None:
        size, work = len(assembly.sentences[number].text), assembly.work
        read = functools.partial(assembly.read_one, number, outcome)
        await text_work(size * work.options.n_best, read, work.job.ticket)
        if assembly.again:
            await self._mend(assembly, [outcome])

    async def _mend(self, assembly: Assembly, outcomes: Sequence[SentenceOutcome]) -> None:
        """Translate the sentences that lost something once more, with the work that the request
        has had; the better translation counts."""
        ticket = assembly.work.job.ticket.admitted(sum(outcome.work for outcome in outcomes))
        sources = [entry.source for entry in assembly.again.values()]
        again = await self.engine.translate(sources, ticket)
        size = sum(len(one.text) * one.source.options.n_best for one in assembly.again.values())
        await text_work(size, lambda: assembly.read_again(again), ticket)
