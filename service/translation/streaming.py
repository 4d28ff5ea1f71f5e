"""Follow the engine's updates of a streamed job, and give each text in pieces.

A sentence's tokens are sent as they come. With kept strings, tags or digits it is sent when it is
whole, because what was sent cannot be taken back.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from service.engine.interfaces import StreamDecoder, Tokenizer
from service.engine.sentence_task import SentenceOutcome, Update
from service.translation.assembly import rendered
from service.translation.job import ModelJob
from service.translation.language.segmentation import has_digits
from service.translation.preparation import PreparedTexts
from service.translation.results import TextPiece
from service.translation.stream_assembler import StreamAssembler
from service.translation.text.carriers import MarkedTranslation
from service.translation.text.document import Document, MarkedSentence
from service.translation.text.reading import PlannedSentence, Reader, Reading
from service.translation.text.rendering import escape
from service.translation.text_work import text_work

_BATCH = 100
"""Sentences that are read at a time; the event loop is free between."""
_UPDATES = 16
"""Updates that are taken at a time; others use the event loop between."""
Complete = Callable[[Sequence[PlannedSentence], Sequence[Reading | None]], Awaitable[list[Reading]]]


class JobStream:
    """The pieces of a job's texts, and at the end the readings of all sentences."""

    def __init__(
        self,
        work: ModelJob,
        prepared: PreparedTexts,
        tokenizer: Tokenizer,
        complete: Complete,
        *,
        may_change_numbers: bool,
    ) -> None:
        """`complete` translates sentences that lost a kept string, and those with wrong numbers if
        it `may_change_numbers`."""
        self._prepared, self._complete = prepared, complete
        self._may_change_numbers = may_change_numbers
        self._reader = Reader(tokenizer, work.source, work.target)
        self._texts = [
            _StreamedText(place, document, tokenizer)
            for place, document in zip(work.places, prepared.documents, strict=True)
        ]
        self._owners = [text for text in self._texts for _ in text.document.sentences]
        self._planned = [index for index, one in enumerate(prepared.planned) for _ in one.texts]
        """For each of the engine's sentences the index of the planned one."""
        self._outcomes: list[SentenceOutcome | None] = [None] * len(self._planned)
        self._first = [0] * len(prepared.planned)
        for number in reversed(range(len(self._planned))):
            self._first[self._planned[number]] = number
        self._readings: list[Reading | None] = [None] * len(prepared.planned)
        self._waiting: deque[_Ended] = deque()
        self._batch: asyncio.Task[list[_StreamedText]] | None = None
        """Reads sentences with tags or kept strings, all that wait at a time."""

    @property
    def readings(self) -> list[Reading]:
        """The readings so far, in order."""
        return [reading for reading in self._readings if reading is not None]

    async def pieces(self, updates: AsyncIterator[Update]) -> AsyncGenerator[TextPiece]:
        """The pieces, text by text in order; raises the first error of a sentence."""
        try:
            for text in self._texts:
                for piece in text.pieces():
                    yield piece
            num_updates = 0
            async for update in updates:
                for piece in self._take(update):
                    yield piece
                num_updates += 1
                if num_updates % _UPDATES == 0:
                    await asyncio.sleep(0)
            while self._batch is not None:
                await asyncio.wait([self._batch])
                for piece in self._take_batch():
                    yield piece
        finally:
            if self._batch is not None:
                self._batch.cancel()
                await asyncio.gather(self._batch, return_exceptions=True)

    def _take(self, update: Update) -> Iterator[TextPiece]:
        index = self._planned[update.index]
        text = self._owners[index]
        sentence = self._prepared.planned[index].sentence
        if self._is_sent_in_tokens(sentence):
            text.grow(sentence, update.ids)
        if update.outcome is not None:
            self._outcomes[update.index] = update.outcome
            self._read(index)
        yield from text.pieces()
        yield from self._take_batch()

    def _is_sent_in_tokens(self, sentence: MarkedSentence) -> bool:
        """Whether what the network wrote stays."""
        return sentence.is_plain and not (self._may_change_numbers and has_digits(sentence.text))

    def _take_batch(self) -> Iterator[TextPiece]:
        """The pieces of the batch if it has ended; the sentences that wait are the next."""
        if self._batch is not None and self._batch.done():
            texts, self._batch = self._batch.result(), None
            for text in texts:
                yield from text.pieces()
        if self._batch is None and self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            self._batch = asyncio.ensure_future(self._read_batch(batch))

    def _read(self, index: int) -> None:
        """Read a planned sentence, if all its texts are translated."""
        planned, first = self._prepared.planned[index], self._first[index]
        outcomes = [o for o in self._outcomes[first : first + len(planned.texts)] if o is not None]
        if len(outcomes) < len(planned.texts):
            return
        is_sent = self._is_sent_in_tokens(planned.sentence)
        reading = self._reader.read(planned, outcomes) if is_sent else None
        if reading is None:
            self._waiting.append(_Ended(index, planned, outcomes))
            return
        for text, unit in self._take_readings([index], [reading]):
            text.send(unit, text.rendered(unit))

    async def _read_batch(self, batch: Sequence[_Ended]) -> list[_StreamedText]:
        """Read the sentences, and render the units that are complete; return their texts."""
        sentences = [ended.planned.sentence for ended in batch]
        size = sum(len(sentence.text) for sentence in sentences)
        readings = await text_work(size, functools.partial(self._read_all, batch))
        completed = await self._complete([ended.planned for ended in batch], readings)
        complete = self._take_readings([ended.place for ended in batch], completed)
        render = functools.partial(_render_all, complete)
        for (text, unit), string in zip(complete, await text_work(size, render), strict=True):
            text.send(unit, string)
        return list(dict.fromkeys(text for text, _ in complete))

    def _read_all(self, batch: Sequence[_Ended]) -> list[Reading | None]:
        return [self._reader.read(ended.planned, ended.outcomes) for ended in batch]

    def _take_readings(
        self, indices: Sequence[int], readings: Sequence[Reading]
    ) -> list[_CompleteUnit]:
        """Keep the readings; return the units that are complete with them."""
        complete = []
        for index, reading in zip(indices, readings, strict=True):
            self._readings[index] = reading
            text = self._owners[index]
            if (unit := text.take(reading)) is not None:
                complete.append((text, unit))
        return complete


class _Ended(NamedTuple):
    """A planned sentence, its place among all, and the outcomes of its texts."""

    place: int
    planned: PlannedSentence
    outcomes: Sequence[SentenceOutcome]


class _StreamedText:
    """One text of the job. A unit is sent when it and the attributes of its tags are read."""

    def __init__(self, place: int, document: Document, tokenizer: Tokenizer) -> None:
        self.document = document
        self._numbers = {unit: number for number, unit in enumerate(document.units)}
        self._units = {
            sentence: unit for unit in document.units for sentence in (unit, *unit.attributes)
        }
        self._translations: dict[MarkedSentence, MarkedTranslation] = {}
        decoders = [_EscapingDecoder(tokenizer.stream(), unit) for unit in document.units]
        self._assembler = StreamAssembler(place, document.gaps, decoders)

    def grow(self, sentence: MarkedSentence, ids: Sequence[int]) -> None:
        if sentence in self._numbers:
            self._assembler.grow(self._numbers[sentence], ids)

    def take(self, reading: Reading) -> MarkedSentence | None:
        """Take a sentence's translation; return the unit that is complete with it, if any."""
        self._translations[reading.sentence] = reading.versions[0]
        unit = self._units[reading.sentence]
        is_complete = all(needed in self._translations for needed in (unit, *unit.attributes))
        return unit if is_complete else None

    def rendered(self, unit: MarkedSentence) -> str:
        """The translation of a complete unit. Any thread may call it."""
        return rendered(unit, self._translations)

    def send(self, unit: MarkedSentence, translation: str) -> None:
        self._assembler.finish(self._numbers[unit], translation)

    def pieces(self) -> Iterator[TextPiece]:
        return self._assembler.pieces()


_CompleteUnit = tuple[_StreamedText, MarkedSentence]


def _render_all(complete: Sequence[_CompleteUnit]) -> list[str]:
    return [text.rendered(unit) for text, unit in complete]


class _EscapingDecoder:
    """Decodes a plain sentence as it is written in the answer."""

    def __init__(self, decoder: StreamDecoder, sentence: MarkedSentence) -> None:
        self._decoder, self._escapes = decoder, sentence.escapes

    def push(self, token: int) -> str:
        return escape(self._decoder.push(token), self._escapes)
