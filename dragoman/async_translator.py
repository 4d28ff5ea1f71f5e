"""The translator of programs with an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Self, TypeVar, Unpack, overload

from dragoman.engine import Engine, Texts, checked, close, is_closed, listed, with_alternatives
from dragoman.options import DetailOptions, Options, make_detailed_job, make_job
from service.translation.job import AUTO, TranslationJob
from service.translation.language.detection import Detection
from service.translation.results import TranslationResult

_Result = TypeVar("_Result")


class AsyncTranslator(Engine):
    """As Translator, for asyncio: cancelling a task cancels its translation. Models are loaded when
    it is made, which `asyncio.to_thread(AsyncTranslator, ...)` does beside an event loop.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel running translations and free the models."""
        await asyncio.to_thread(close, self._opened)

    @overload
    async def translate(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> str: ...
    @overload
    async def translate(
        self, text: Texts, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> list[str]: ...
    async def translate(
        self, text: str | Texts, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> str | list[str]:
        """The translation of a text, or of each text of a list."""
        texts, q = listed(text)
        job = make_job(q, source, target, options)
        translations = [result.text async for result in self._each(texts, job)]
        return translations[0] if isinstance(text, str) else translations

    @overload
    async def translate_detailed(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[DetailOptions]
    ) -> TranslationResult: ...
    @overload
    async def translate_detailed(
        self, text: Texts, *, target: str, source: str = AUTO, **options: Unpack[DetailOptions]
    ) -> list[TranslationResult]: ...
    async def translate_detailed(
        self,
        text: str | Texts,
        *,
        target: str,
        source: str = AUTO,
        **options: Unpack[DetailOptions],
    ) -> TranslationResult | list[TranslationResult]:
        """As `translate`, with other translations, word alignment, confidence and checks."""
        texts, q = listed(text)
        job = make_detailed_job(q, source, target, options)
        found = [result async for result in self._each(texts, job)]
        results = list(with_alternatives(found, job.alternatives))
        return results[0] if isinstance(text, str) else results

    def translate_iterable(
        self,
        texts: Iterable[str],
        *,
        target: str,
        source: str = AUTO,
        **options: Unpack[Options],
    ) -> AsyncIterator[str]:
        """The translations of any number of texts, in order, as they are asked for. A bounded
        number of texts is read ahead."""
        job = make_job([], source, target, options)
        return (result.text async for result in self._each(texts, job))

    def stream(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> AsyncIterator[str]:
        """The pieces of the text's translation while it is made."""
        return self._pieces(make_job(checked(text), source, target, options))

    async def translate_file(
        self,
        path: str | Path,
        *,
        target: str,
        source: str = AUTO,
        replace: bool = False,
        **options: Unpack[Options],
    ) -> bytes:
        """The translation of a document, whose format the ending of its name tells. `replace`:
        also what PO, XLIFF and TS files have a translation of."""
        job = make_job([], source, target, options)
        translated = await _awaited(self._file(path, job, replaces=replace))
        return translated.content

    async def detect(self, text: str) -> Detection:
        """The language of a text, of those that the models have."""
        (found,) = await _awaited(self._detect(text))
        return found

    async def _each(
        self, texts: Iterable[str], job: TranslationJob
    ) -> AsyncGenerator[TranslationResult]:
        with contextlib.closing(self._results(texts, job)) as submitted:
            for results in submitted:
                for result in await _awaited(results):
                    yield result

    async def _pieces(self, job: TranslationJob) -> AsyncGenerator[str]:
        loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        running = self._stream(job, lambda one: loop.call_soon_threadsafe(pieces.put_nowait, one))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await _awaited(running)
        finally:
            running.cancel()


async def _awaited(future: Future[_Result]) -> _Result:
    """Only who is cancelled is told so."""
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise is_closed() from None
