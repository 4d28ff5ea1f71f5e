"""Follow the engine's updates of a streamed job, and give each text in pieces.

A sentence's tokens are sent as they come. With kept strings or tags it is sent when it is whole,
because what was sent cannot be taken back.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Sequence,
)
from typing import TYPE_CHECKING, TypeVar

from service.engine.sentence_engine import Update
from service.engine.sentence_task import SentenceOutcome
from service.translation.assembly import Assembly
from service.translation.markup.coded_text import plain_text
from service.translation.results import TextPiece
from service.translation.sentence.first_letter import with_first_capital
from service.translation.sentence.parsed_text import ParsedText, Sentence, are_numbers
from service.translation.sentence.rendering import escape

if TYPE_CHECKING:
    from model.text.tokenizer import StreamDecoder, Tokenizer

_AT_ONCE = 16
"""Updates and pieces that are taken at a time; others use the event loop between."""
_Piece = TypeVar("_Piece")
Read = Callable[[Assembly, int, SentenceOutcome], Awaitable[None]]


class JobStream:
    """The pieces of a job's texts. `read` reads a sentence, so that the assembly has its result."""

    def __init__(self, assembly: Assembly, tokenizer: Tokenizer, read: Read) -> None:
        self._assembly, self._read = assembly, read
        self._texts = [
            _StreamedText(place, parsed, tokenizer, is_begun=not assembly.sets_first_letters)
            for place, parsed in zip(assembly.work.places, assembly.parsed_texts, strict=True)
        ]
        self._owners = [text for text in self._texts for _ in text.parsed.sentences]

    async def pieces(self, updates: AsyncIterator[Update]) -> AsyncGenerator[TextPiece]:
        """The pieces, text by text in order; raises the first error of a sentence."""
        turns = itertools.count(1)
        async for text in self._changed(updates):
            await let_others_run(turns)
            for piece in text.assembler.pieces():
                yield piece
                await let_others_run(turns)

    async def _changed(self, updates: AsyncIterator[Update]) -> AsyncGenerator[_StreamedText]:
        """All texts, and then the text of each update."""
        for text in self._texts:
            yield text
        async for update in updates:
            text = self._owners[update.index]
            await self._apply(update, text)
            yield text

    async def _apply(self, update: Update, text: _StreamedText) -> None:
        sentence = self._assembly.sentences[update.index]
        is_plain = sentence.is_bare and self._assembly.entries[update.index].is_plain
        if is_plain and (number := text.numbers.get(sentence)) is not None:
            text.assembler.grow(number, update.ids)
        if update.outcome is not None:
            await self._read(self._assembly, update.index, update.outcome)
            outer = text.outer_of[sentence]
            if self._assembly.is_complete(outer):
                rendered = plain_text(self._assembly.rendered(outer))
                text.assembler.finish(text.numbers[outer], rendered)


@contextlib.asynccontextmanager
async def buffered(
    pieces: AsyncIterator[_Piece], work: contextlib.AsyncExitStack
) -> AsyncGenerator[AsyncGenerator[_Piece]]:
    """Take the pieces as they come, whether or not they are read, and end `work` after the last.
    Leaving the block cancels that."""
    done = asyncio.Queue[_Piece | None]()
    filling = asyncio.create_task(_fill(done, pieces, work))
    try:
        yield _taken(done, filling)
    finally:
        filling.cancel()
        await asyncio.gather(filling, return_exceptions=True)
        await work.aclose()  # a task that is cancelled before it begins ends nothing


async def _fill(
    done: asyncio.Queue[_Piece | None],
    pieces: AsyncIterator[_Piece],
    work: contextlib.AsyncExitStack,
) -> None:
    """Move the pieces into the queue, then None."""
    try:
        async with work:
            async for piece in pieces:
                done.put_nowait(piece)
    finally:
        done.put_nowait(None)


async def _taken(
    done: asyncio.Queue[_Piece | None], filling: asyncio.Task[None]
) -> AsyncGenerator[_Piece]:
    """The pieces of the queue; raises what ended its filling."""
    turns = itertools.count(1)
    while (piece := await done.get()) is not None:
        await let_others_run(turns)
        yield piece
    await filling


async def let_others_run(turns: Iterator[int]) -> None:
    """Use the event loop for others at each sixteenth of what is taken at once."""
    if next(turns) % _AT_ONCE == 0:
        await asyncio.sleep(0)


class _StreamedText:
    """One text of the job. An outer sentence is sent when it and the sentences inside are
    read."""

    def __init__(
        self, place: int, parsed: ParsedText, tokenizer: Tokenizer, *, is_begun: bool
    ) -> None:
        self.parsed = parsed
        self.numbers = {outer: number for number, outer in enumerate(parsed.outer_sentences)}
        self.outer_of = {
            sentence: outer for outer in parsed.outer_sentences for sentence in outer.within()
        }
        decoders = [
            _PlainDecoder(tokenizer.stream(), outer, is_begun=is_begun)
            for outer in parsed.outer_sentences
        ]
        self.assembler = StreamAssembler(place, parsed.gaps, decoders)


class _PlainDecoder:
    """Decodes a plain sentence as it is written in the answer. `is_begun`: its first letter
    stays."""

    def __init__(self, decoder: StreamDecoder, sentence: Sentence, *, is_begun: bool) -> None:
        self._decoder, self._sentence = decoder, sentence
        self._is_begun = is_begun or not sentence.begins

    def push(self, token: int) -> str:
        text = self._decoder.push(token)
        if not self._is_begun and text:
            self._is_begun = True
            if text[:1].islower():
                text = with_first_capital(text, self._sentence.text, ends=self._sentence.ends)
        return plain_text(escape(text, self._sentence.escapes))


class StreamAssembler:
    """Accepts sentences in any order and gives pieces in text order.

    The joined pieces are the whole text: gap, translation, gap, ..., last gap.
    """

    def __init__(
        self,
        text_index: int,
        gaps: Sequence[str],
        decoders: Sequence[StreamDecoder | _PlainDecoder],
    ) -> None:
        """`gaps`: the text before each sentence, and after the last."""
        self._text_index, self._gaps, self._decoders = text_index, gaps, decoders
        self._texts = ["" for _ in decoders]
        self._is_final = [False for _ in decoders]
        self._current = 0
        self._num_told = -1

    def grow(self, sentence: int, ids: Sequence[int]) -> None:
        """Add final tokens to a sentence."""
        decoder = self._decoders[sentence]
        self._texts[sentence] += "".join(decoder.push(token) for token in ids)

    def finish(self, sentence: int, text: str) -> None:
        """Set a sentence's whole translation; it begins with the text grown so far."""
        self._texts[sentence] = text
        self._is_final[sentence] = True

    def pieces(self) -> Iterator[TextPiece]:
        """The pieces that are new since the last call."""
        while self._current < len(self._texts):
            if piece := self._next_of_current():
                yield TextPiece(self._text_index, self._current, piece)
            if not self._is_final[self._current]:
                return
            self._current += 1
            self._num_told = -1
        if self._current == len(self._texts):
            self._current += 1
            if gap := self._gaps[-1]:
                yield TextPiece(self._text_index, max(0, len(self._texts) - 1), gap)

    def _next_of_current(self) -> str:
        """The current sentence's new text; the gap comes before its first text."""
        text = self._texts[self._current]
        if self._num_told < 0:
            if not text and not self._is_final[self._current]:
                return ""
            self._num_told = len(text)
            return (self._gaps[self._current] or self._between()) + text
        piece, self._num_told = text[self._num_told :], len(text)
        return piece

    def _between(self) -> str:
        """What parts two translations that nothing parts."""
        before, text = self._texts[self._current - 1], self._texts[self._current]
        return " " if self._current and are_numbers(before, text) else ""
