"""Answer a text with its approved suggestion first."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Mapping

from starlette.concurrency import run_in_threadpool

from service.errors import StorageFailed, UnsupportedLanguage
from service.periodic import repeated
from service.stores.suggestions import SuggestedPair, SuggestionStore
from service.translation.dispatcher import Dispatcher
from service.translation.job import TranslationJob
from service.translation.results import TextPiece, TranslationResult
from service.translation.translator import Pieces

_REFRESH_SECONDS = 1.0


class SuggestedTranslations:
    """A dispatcher whose translations are replaced by approved suggestions for the same text.

    The machine's translation becomes the first alternative. `store` is None if there are no
    suggestions. The approved ones are held in memory, and a thread keeps them current.
    """

    def __init__(self, dispatcher: Dispatcher, store: SuggestionStore | None) -> None:
        """Raises StorageFailed."""
        self._dispatcher, self.store = dispatcher, store
        self._version: int | None = None
        self._use(self._read())

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """As Dispatcher.translate."""
        results = await self._dispatcher.translate(job)
        return self._with_suggestions(job, results) if self._texts else results

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """As Dispatcher.stream; texts come whole if one of them may have a suggestion."""
        async with self._dispatcher.stream(job) as pieces:
            yield self._whole(job, pieces) if self._has_suggestion(job) else pieces

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncGenerator[None]:
        """Read changes of the database every second inside the block."""
        if self.store is None:
            yield
            return
        with contextlib.closing(self.store):
            async with repeated(self._refresh, _REFRESH_SECONDS):
                yield

    async def _refresh(self) -> None:
        with contextlib.suppress(StorageFailed):
            self._use(await run_in_threadpool(self._read))

    def _read(self) -> tuple[int | None, Mapping[SuggestedPair, str] | None]:
        """The version, and the approved suggestions if they may have changed."""
        if self.store is None:
            return None, {}
        version = self.store.version()
        return version, None if version == self._version else self.store.approved()

    def _use(self, read: tuple[int | None, Mapping[SuggestedPair, str] | None]) -> None:
        self._version, approved = read
        if approved is not None:
            self._approved = approved
            self._texts = frozenset(pair.text for pair in approved)

    def _has_suggestion(self, job: TranslationJob) -> bool:
        if job.prefixes or job.keep or job.glossary is not None:
            return False
        return bool(self._texts) and not self._texts.isdisjoint(job.texts)

    async def _whole(self, job: TranslationJob, pieces: Pieces) -> Pieces:
        async for piece in pieces:
            if not isinstance(piece, TextPiece):
                results = self._with_suggestions(job, piece)
                for index, result in enumerate(results):
                    yield TextPiece(index, 0, result.text)
                yield results

    def _with_suggestions(
        self, job: TranslationJob, results: list[TranslationResult]
    ) -> list[TranslationResult]:
        if not self._has_suggestion(job):
            return results
        return [
            self._suggested(job, text, result) if isinstance(text, str) else result
            for text, result in zip(job.texts, results, strict=True)
        ]

    def _suggested(
        self, job: TranslationJob, text: str, result: TranslationResult
    ) -> TranslationResult:
        source = result.detection.language if result.detection else job.source
        try:
            pair = SuggestedPair(
                self._dispatcher.known_language("source", source),
                self._dispatcher.known_language("target", job.target),
                job.format,
                text,
            )
        except UnsupportedLanguage:
            return result
        suggestion = self._approved.get(pair)
        if suggestion is None:
            return result
        alternatives = [result.text, *result.alternatives]
        return dataclasses.replace(result, text=suggestion, alternatives=alternatives)
