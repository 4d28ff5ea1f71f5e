"""Translate the texts of a job with one model: prepare, decode in the engine, assemble."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from model.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.text.languages import Languages
from service.engine.engine import Engine
from service.engine.interfaces import Tokenizer
from service.engine.sentence_task import SentenceOutcome
from service.translation.assembly import Assembly
from service.translation.inspection import InspectedModel, Inspector
from service.translation.job import ModelJob
from service.translation.next_words import NextWordFinder, NextWords
from service.translation.preparation import Preparation, PreparedTexts
from service.translation.results import TextPiece, TranslationResult
from service.translation.streaming import JobStream
from service.translation.text.document import MarkedSentence
from service.translation.text.reading import PlannedSentence, Reader, Reading
from service.translation.text_work import num_characters, text_work

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
    """Translates texts between the pairs of one model."""

    def __init__(self, model: TranslationModel, engine: Engine) -> None:
        self.name, self.engine, self.decoding = model.name, engine, model.decoding
        self._tokenizer = model.tokenizer
        self._preparation = Preparation(
            model.tokenizer, model.max_source_tokens, engine.max_target_tokens, engine.max_beam_size
        )
        self._assembly = Assembly(model.name, model.tokenizer, model.confidence)
        self._inspector = Inspector(model.inspected, model.tokenizer, engine.max_target_tokens)
        self.pairs = frozenset(model.pairs)
        self.sources = list(dict.fromkeys(source for source, _ in model.pairs))
        targets = (target for _, target in model.pairs)
        self.languages = list(dict.fromkeys([*self.sources, *targets]))
        self._known = Languages(self.languages, model.own_codes)

    def find(self, code: str) -> str | None:
        """The model's own code for a language in any spelling, or None."""
        return self._known.find(code)

    def can_translate(self, source: str, target: str) -> bool:
        """Whether the model has this pair, given in its own codes."""
        return (source, target) in self.pairs

    async def require_possible(self, work: ModelJob) -> None:
        """Raise InvalidField if the prefixes are invalid for any text.

        `translate` and `stream` also check them against the texts.
        """
        check = functools.partial(self._preparation.require_possible, work)
        await text_work(num_characters(work.prefixes), check)

    async def translate(self, work: ModelJob) -> list[TranslationResult]:
        """Translate every text; raises a ServiceError if one of them cannot be translated."""
        prepared = await self._prepare(work)
        outcomes = await self.engine.translate(
            prepared.sentences, work.deadline_seconds, is_admitted=work.is_admitted
        )
        readings = await self._complete(
            work, prepared.planned, await self._read(work, prepared, outcomes)
        )
        return await self._assemble(work, prepared, readings)

    async def next_words(self, work: ModelJob, prefix: str, count: int) -> NextWords:
        """The likeliest words after the beginning of the translation of the job's only text."""
        finder = NextWordFinder(self.engine, self._tokenizer, self._preparation, self._texts_of)
        self.engine.require_room(1)
        return await finder.find(work, prefix, count)

    async def _texts_of(self, work: ModelJob) -> list[str]:
        count = len(work.texts)
        work = dataclasses.replace(work, detections=[None] * count, pivots=[None] * count)
        return [result.text for result in await self.translate(work)]

    @contextlib.asynccontextmanager
    async def stream(self, work: ModelJob) -> AsyncGenerator[Pieces]:
        """Yield the translations in pieces, then all results; leaving the block cancels.

        A text's joined pieces are its translation. Raises as `translate`.
        """
        prepared = await self._prepare(work, is_streamed=True)
        async with self.engine.stream(
            prepared.sentences, work.deadline_seconds, is_admitted=work.is_admitted
        ) as updates:
            begin = functools.partial(
                JobStream,
                work,
                prepared,
                self._tokenizer,
                functools.partial(self._complete, work),
                may_change_numbers=self._preparation.carries_amounts(work),
            )
            stream = await text_work(num_characters(work.texts), begin)
            async with contextlib.aclosing(stream.pieces(updates)) as pieces:
                yield self._follow(work, prepared, stream, pieces)

    async def _follow(
        self,
        work: ModelJob,
        prepared: PreparedTexts,
        stream: JobStream,
        pieces: AsyncGenerator[TextPiece],
    ) -> Pieces:
        async for piece in pieces:
            yield piece
        yield await self._assemble(work, prepared, stream.readings)

    async def _prepare(self, work: ModelJob, *, is_streamed: bool = False) -> PreparedTexts:
        """Cut and tokenise the texts, unless the engine would refuse any sentence."""
        if work.is_admitted:
            self.engine.require_running()
        else:
            self.engine.require_room(1 if any(work.texts) else 0)
        texts = (*work.texts, *work.prefixes)
        terms = [entry.source for entry in work.glossary.entries] if work.glossary else []
        prepare = functools.partial(self._preparation.prepare, work, is_streamed=is_streamed)
        prepared = await text_work(num_characters([*texts, *terms]), prepare)
        if work.inspection:
            self._inspector.require_possible(work.inspection, prepared.sentences)
        return prepared

    async def _read(
        self, work: ModelJob, prepared: PreparedTexts, outcomes: Sequence[SentenceOutcome]
    ) -> list[Reading | None]:
        """The readings of planned sentences; None for those that lost a kept string."""

        def read_all() -> list[Reading | None]:
            reader = Reader(self._tokenizer, work.source, work.target)
            remaining = iter(outcomes)
            return [
                reader.read(one, [next(remaining) for _ in one.texts]) for one in prepared.planned
            ]

        size = sum(len(one.sentence.text) for one in prepared.planned) * work.options.n_best
        return await text_work(size, read_all)

    async def _complete(
        self,
        work: ModelJob,
        planned: Sequence[PlannedSentence],
        readings: Sequence[Reading | None],
    ) -> list[Reading]:
        """The readings, with those that are None translated in parts, and those with wrong numbers
        translated again."""
        lost = [
            one.sentence for one, reading in zip(planned, readings, strict=True) if reading is None
        ]
        found = iter(await self._translate_parts(work, lost) if lost else ())
        complete = [reading or next(found) for reading in readings]
        if self._preparation.carries_amounts(work):
            for is_in_parts in (False, True):
                complete = await self._mend(work, complete, is_in_parts=is_in_parts)
        return complete

    async def _mend(
        self, work: ModelJob, readings: Sequence[Reading], *, is_in_parts: bool
    ) -> list[Reading]:
        """The readings, with those translated again, with carriers for numbers, that have fewer
        wrong numbers then."""
        wrong = [reading.sentence for reading in readings if reading.num_wrong]
        if not wrong:
            return list(readings)
        size = sum(len(sentence.text) for sentence in wrong)
        prepare = functools.partial(
            self._preparation.prepare_amounts, work, wrong, is_in_parts=is_in_parts
        )
        found = await self._translate_prepared(work, await text_work(size, prepare))
        again = {reading.sentence: reading for reading in found}
        return [
            min(reading, again.get(reading.sentence, reading), key=lambda one: one.num_wrong)
            for reading in readings
        ]

    async def _translate_parts(
        self, work: ModelJob, sentences: Sequence[MarkedSentence]
    ) -> list[Reading]:
        size = sum(len(sentence.text) for sentence in sentences)
        prepare = functools.partial(self._preparation.prepare_parts, work, sentences)
        return await self._translate_prepared(work, await text_work(size, prepare))

    async def _translate_prepared(self, work: ModelJob, prepared: PreparedTexts) -> list[Reading]:
        outcomes = await self.engine.translate(
            prepared.sentences, work.deadline_seconds, is_admitted=True
        )
        readings = await self._read(work, prepared, outcomes)
        return [reading for reading in readings if reading is not None]

    async def _assemble(
        self, work: ModelJob, prepared: PreparedTexts, readings: Sequence[Reading]
    ) -> list[TranslationResult]:
        assemble = functools.partial(self._assembly.results, work, prepared.documents, readings)
        size = num_characters(work.texts) * work.options.n_best
        results = await text_work(size, assemble)
        if work.inspection is None:
            return results
        return await self._inspector.inspected(work, prepared.sentences, results)
