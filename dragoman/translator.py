"""The translator of programs that wait for a translation."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from queue import SimpleQueue
from typing import Self, TypeVar, Unpack, overload

from dragoman.engine import Engine, Texts, checked, close, is_closed, listed, with_alternatives
from dragoman.options import DetailOptions, Options, make_detailed_job, make_job
from service.offline import awaited
from service.translation.job import AUTO, TranslationJob
from service.translation.language.detection import Detection
from service.translation.results import TranslationResult

_Result = TypeVar("_Result")


class Translator(Engine):
    """Translates in this process. Any number of threads may use it at the same time: their
    sentences share the batches. The end of a with block, or `close`, frees its memory.

    Methods raise ServiceError.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel running translations and free the models."""
        close(self._opened)

    @overload
    def translate(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> str: ...
    @overload
    def translate(
        self, text: Texts, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> list[str]: ...
    def translate(
        self, text: str | Texts, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> str | list[str]:
        """The translation of a text, or of each text of a list."""
        texts, q = listed(text)
        job = make_job(q, source, target, options)
        translations = [result.text for result in self._each(texts, job)]
        return translations[0] if isinstance(text, str) else translations

    @overload
    def translate_detailed(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[DetailOptions]
    ) -> TranslationResult: ...
    @overload
    def translate_detailed(
        self, text: Texts, *, target: str, source: str = AUTO, **options: Unpack[DetailOptions]
    ) -> list[TranslationResult]: ...
    def translate_detailed(
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
        results = list(with_alternatives(self._each(texts, job), job.alternatives))
        return results[0] if isinstance(text, str) else results

    def translate_iterable(
        self,
        texts: Iterable[str],
        *,
        target: str,
        source: str = AUTO,
        **options: Unpack[Options],
    ) -> Iterator[str]:
        """The translations of any number of texts, in order, as they are asked for. A bounded
        number of texts is read ahead."""
        job = make_job([], source, target, options)
        return (result.text for result in self._each(texts, job))

    def stream(
        self, text: str, *, target: str, source: str = AUTO, **options: Unpack[Options]
    ) -> Iterator[str]:
        """The pieces of the text's translation while it is made."""
        return self._pieces(make_job(checked(text), source, target, options))

    def translate_file(
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
        return _awaited(self._file(path, job, replaces=replace)).content

    def detect(self, text: str) -> Detection:
        """The language of a text, of those that the models have."""
        (found,) = _awaited(self._detect(text))
        return found

    def _each(self, texts: Iterable[str], job: TranslationJob) -> Generator[TranslationResult]:
        with contextlib.closing(self._results(texts, job)) as submitted:
            for results in submitted:
                yield from _awaited(results)

    def _pieces(self, job: TranslationJob) -> Generator[str]:
        pieces = SimpleQueue[str | None]()
        running = self._stream(job, pieces.put)
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            _awaited(running)
        finally:
            running.cancel()


def _awaited(future: Future[_Result]) -> _Result:
    try:
        return awaited(future)
    except CancelledError:
        raise is_closed() from None
