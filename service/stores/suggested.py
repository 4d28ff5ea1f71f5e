"""Answer a text with its approved suggestion first."""

from __future__ import annotations

import contextlib
import dataclasses
import html
from collections.abc import AsyncGenerator

from starlette.concurrency import run_in_threadpool

from service.errors import StorageFailed, UnsupportedLanguage
from service.periodic import repeated
from service.stores.exact_matches import Probe, TextIndex, adapted, match_key, probes_of
from service.stores.suggestions import SuggestedPair, SuggestionStore
from service.translation.dispatcher import Dispatcher
from service.translation.job import TranslationJob
from service.translation.results import SuggestionDetail, TextPiece, TranslationResult
from service.translation.translator import Pieces

_REFRESH_SECONDS = 1.0


class SuggestedTranslations:
    """A dispatcher whose translations are replaced by approved suggestions for the same text.

    The machine's translation becomes the first alternative. `store` is None if there are no
    suggestions. An index of the approved ones is in memory, and a thread keeps it current; they
    themselves are read when a text may have one.
    """

    def __init__(self, dispatcher: Dispatcher, store: SuggestionStore | None) -> None:
        """Raises StorageFailed."""
        self._dispatcher, self.store = dispatcher, store
        self._num_approvals: int | None = None
        self._index: TextIndex | None = None
        """None without any suggestion in use."""
        self._read()

    async def translate(self, job: TranslationJob) -> list[TranslationResult]:
        """As Dispatcher.translate."""
        results = await self._dispatcher.translate(job)
        return results if self._index is None else await self._with_suggestions(job, results)

    @contextlib.asynccontextmanager
    async def stream(self, job: TranslationJob) -> AsyncGenerator[Pieces]:
        """As Dispatcher.stream; texts come whole if one of them may have a suggestion."""
        async with self._dispatcher.stream(job) as pieces:
            yield self._whole(job, pieces) if self._may_have_suggestion(job) else pieces

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
        await run_in_threadpool(self._read)

    def _read(self) -> None:
        """Make the index anew if what is in use may have changed."""
        if self.store is None:
            return
        number = self.store.num_approvals()
        if number != self._num_approvals:
            index = TextIndex(self.store.texts())
            self._index, self._num_approvals = None if index.is_empty else index, number

    def _may_have_suggestion(self, job: TranslationJob) -> bool:
        index = self._index
        if index is None or job.prefixes or job.keep or job.glossary is not None:
            return False
        return any(
            index.find(probe.key)
            for text in job.texts
            if isinstance(text, str)
            for probe in probes_of(text, job.format)
        )

    async def _whole(self, job: TranslationJob, pieces: Pieces) -> Pieces:
        async for piece in pieces:
            if not isinstance(piece, TextPiece):
                results = await self._with_suggestions(job, piece)
                for index, result in enumerate(results):
                    yield TextPiece(index, 0, result.text)
                yield results

    async def _with_suggestions(
        self, job: TranslationJob, results: list[TranslationResult]
    ) -> list[TranslationResult]:
        """The machine's translations stay if the database cannot be read."""
        if self._may_have_suggestion(job):
            with contextlib.suppress(StorageFailed):
                return await run_in_threadpool(self._replaced, job, results)
        return results

    def _replaced(
        self, job: TranslationJob, results: list[TranslationResult]
    ) -> list[TranslationResult]:
        return [
            self._suggested(job, text, result) if isinstance(text, str) else result
            for text, result in zip(job.texts, results, strict=True)
        ]

    def _suggested(
        self, job: TranslationJob, text: str, result: TranslationResult
    ) -> TranslationResult:
        source = result.detection.language if result.detection else job.source
        for probe in probes_of(text, job.format):
            if found := self._find(probe, source, job.target):
                pair, suggestion = found
                if probe.is_escaped:
                    suggestion = html.escape(suggestion, quote=False)
                best = adapted(text, suggestion)
                others = (result.text, *result.alternatives)
                return dataclasses.replace(
                    result,
                    text=best,
                    alternatives=[other for other in others if other != best],
                    suggestion=SuggestionDetail(pair.text, pair.text == text),
                )
        return result

    def _find(self, probe: Probe, source: str, target: str) -> tuple[SuggestedPair, str] | None:
        """The suggestion that was approved last."""
        index, store = self._index, self.store
        if index is None or store is None or not (ids := index.find(probe.key)):
            return None
        languages = self._known(source, target)
        for pair, suggestion in store.find(ids):
            is_same = pair.format in probe.formats and match_key(pair.text) == probe.key
            if is_same and languages and self._known(pair.source, pair.target) == languages:
                return pair, suggestion
        return None

    def _known(self, source: str, target: str) -> tuple[str, str] | None:
        """The first models' codes of a pair, or None."""
        known = self._dispatcher.known_language
        try:
            return known("source", source), known("target", target)
        except UnsupportedLanguage:
            return None
