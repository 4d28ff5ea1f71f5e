"""Translate without a server: the dispatcher and engines run in this process."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Self, TypeVar

from model.backends.native import choose_instruction_set
from model.checkpoint import read_info
from model.importers.resolve import resolve_checkpoint
from model.training.progress_bar import ProgressBar
from service.documents.file_translator import (
    Documents,
    FileJob,
    FileTranslator,
    TranslatedFile,
)
from service.errors import ServiceError
from service.models.loading import LoadedModel, load_models
from service.models.local_models import LocalModels
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.dispatcher import Dispatcher
from service.translation.glossary import Glossary
from service.translation.job import SplitSentences, TranslationJob
from service.translation.results import TranslationResult
from service.translation.routing import Routes
from service.translation.second_translation import LEAST_BEAM

FILL = 2
"""As many texts as slots keep the batches full, twice as many also while others are read."""
TIMES_AHEAD = 6
"""How many times as many do so where results are taken in order: a sentence that is translated once
more waits for its turn twice."""
_LEAST_AHEAD = 4
"""Batches submitted beyond the awaited one."""
_TEXTS_IN_A_BATCH = 64
_UNLIMITED = 10**9
_FILES_AT_ONCE = 4
_LEAST_PARTS_OF_A_FILE = 8
_SEGMENTS_IN_A_PART = 32
_ONE_PROCESS = "a translator runs only in the process that opened it, until that ends"
_Ahead = TypeVar("_Ahead")
_Result = TypeVar("_Result")
_Translations = Future[list[TranslationResult]]


@dataclass(frozen=True)
class OfflineOptions:
    """How to translate; None is the checkpoint's default. `max_slots`: of 0 a server's number;
    `keep`: strings that are not translated."""

    device: str = "auto"
    precision: str = "auto"
    max_slots: int = 0
    beam_size: int | None = None
    length_penalty: float | None = None
    max_source_tokens: int | None = None
    max_beam_size: int | None = None
    keep: Sequence[str] = ()
    glossary: Glossary | None = None
    split_sentences: SplitSentences = True


class OfflineTranslator:
    """A context manager that runs the engines inside the block.

    Raises ValueError with one sentence, and RuntimeError outside the block.
    """

    def __init__(
        self,
        models: Sequence[Path],
        options: OfflineOptions,
        documents: Documents | None = None,
    ) -> None:
        """`documents`: reads and writes files; None is in processes of their own."""
        settings, loaded = load_offline(needed_models(models, None), options)
        self._models = LocalModels(settings, loaded, Metrics())
        self._dispatcher = self._models.dispatcher
        self.max_slots = max(model.sizes.max_slots for model in loaded)
        num_texts = FILL * self.max_slots
        self._num_ahead = max(_LEAST_AHEAD, TIMES_AHEAD * num_texts // _TEXTS_IN_A_BATCH)
        self._files = unbounded_files(self._dispatcher, num_texts, documents)
        self._files_at_once = asyncio.Semaphore(_FILES_AT_ONCE)
        self._template = template_job(options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="dragoman-offline", daemon=True
        )
        self._process = 0
        """In which it is open."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._process = os.getpid()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel running translations and stop the engines. A fork has none."""
        if not self._has_thread():
            return
        self._process = 0
        asyncio.run_coroutine_threadsafe(cancel_everything(), self._loop).result()
        self._models.pool.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"it cannot be pickled or copied: {_ONE_PROCESS}")

    def submit(
        self, work: Callable[[Dispatcher], Coroutine[object, object, _Result]]
    ) -> Future[_Result]:
        """Begin work with the dispatcher. The result raises ServiceError."""
        return self._submit(work(self._dispatcher))

    def translate_all(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """Translate each text; shows a progress bar if standard error is a terminal."""
        job = dataclasses.replace(self._template, source=source, target=target)
        with ProgressBar(total=len(texts), unit="text", disable=None) as bar:
            done: list[str] = []
            for batch in self.submit_each(texts, job):
                translations = self._result(batch)
                done += [translation.text for translation in translations]
                bar.update(len(translations))
        return done

    @property
    def routes(self) -> Routes:
        return self._dispatcher.routes

    def submit_each(
        self, texts: Iterable[str], job: TranslationJob
    ) -> Iterator[Future[list[TranslationResult]]]:
        """Begin to translate any number of texts as the job says, a few at a time and a bounded
        number ahead, in order. If reading raises, the texts read before come first. Closing the
        iterator cancels."""
        latest: deque[_Translations] = deque(maxlen=1 + self._num_ahead)

        def begin() -> Iterator[_Translations]:
            for batch in _batches(texts):
                one = dataclasses.replace(job, texts=batch)
                latest.append(self._submit(self._dispatcher.translate(one)))
                yield latest[-1]

        try:
            yield from some_ahead(begin(), self._num_ahead)
        finally:
            for future in latest:
                future.cancel()

    def submit_file(self, work: FileJob) -> Future[TranslatedFile]:
        """Begin to translate a file, when its turn comes, as the server does, without its limits.
        The result raises ServiceError."""
        return self._submit(self._translate_in_turn(work))

    def _submit(self, running: Coroutine[object, object, _Result]) -> Future[_Result]:
        if not self._has_thread():
            running.close()
            raise RuntimeError(_ONE_PROCESS if self._process else "the translator is closed")
        return asyncio.run_coroutine_threadsafe(running, self._loop)

    def _has_thread(self) -> bool:
        """Whether its thread can answer; Thread.is_alive is not safe from Ctrl-C. When Python ends,
        objects that are freed would wait for a daemon thread that never runs again."""
        return os.getpid() == self._process and not sys.is_finalizing()

    def _result(self, future: Future[_Result]) -> _Result:
        try:
            return awaited(future)
        except ServiceError as error:
            raise ValueError(str(error)) from error

    async def _translate_in_turn(self, work: FileJob) -> TranslatedFile:
        async with self._files_at_once:
            return await self._files.translate(work)

    async def _start(self) -> None:
        self._models.pool.start()


def awaited(future: Future[_Result]) -> _Result:
    """The future's result; if it is not waited for to the end, it is cancelled."""
    try:
        return future.result()
    except RuntimeError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # it came as a lock was taken
            raise error.__context__ from None
        raise
    finally:
        future.cancel()


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    failure = None
    try:
        for text in texts:
            batch.append(text)
            if len(batch) == _TEXTS_IN_A_BATCH:
                yield batch
                batch = []
    except Exception as error:
        failure = error
    if batch:
        yield batch
    if failure is not None:
        raise failure


def some_ahead(begun: Iterable[_Ahead], count: int) -> Iterator[_Ahead]:
    """Yield each in order, `count` behind the last one begun.

    If beginning one raises, those already begun are yielded first.
    """
    ahead: deque[_Ahead] = deque()
    remaining, failure = iter(begun), None
    while failure is None:
        try:
            ahead.append(next(remaining))
        except StopIteration:
            break
        except Exception as error:
            failure = error
        if len(ahead) > count:
            yield ahead.popleft()
    yield from ahead
    if failure is not None:
        raise failure


async def cancel_everything() -> None:
    """Cancel all other tasks of this event loop, and wait for them."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def unbounded_files(
    dispatcher: Dispatcher, num_texts: int, documents: Documents | None = None
) -> FileTranslator:
    """Translates files of any size, with about `num_texts` texts of each in the engines at a
    time."""
    num_parts = max(_LEAST_PARTS_OF_A_FILE, num_texts // _SEGMENTS_IN_A_PART)
    return FileTranslator(dispatcher, None, num_parts, documents)


def template_job(options: OfflineOptions) -> TranslationJob:
    """A job without texts and languages."""
    penalty = options.length_penalty
    return TranslationJob(
        [],
        "",
        "",
        beam_size=options.beam_size,
        options={} if penalty is None else {"length_penalty": penalty},
        keep=options.keep,
        glossary=options.glossary,
        split_sentences=options.split_sentences,
    )


def needed_models(models: Sequence[Path], pair: tuple[str, str] | None) -> Sequence[Path]:
    """The checkpoints of the models; only the first that has the pair, as the dispatcher chooses,
    if one has it."""
    paths = [resolve_checkpoint(model) for model in models]
    for path in paths if pair else ():
        info = read_info(path)
        if tuple(map(info.languages.find, pair or ())) in info.pairs:
            return [path]
    return paths


def load_offline(
    paths: Sequence[Path], options: OfflineOptions
) -> tuple[Settings, list[LoadedModel]]:
    """Settings, and models with as many slots as a server would choose. Raises ValueError."""
    settings = offline_settings(paths, options)
    return settings, load_models(settings, options.beam_size)


def offline_settings(paths: Sequence[Path], options: OfflineOptions) -> Settings:
    """Settings that ignore the environment except for the instruction set. Raises ValueError."""
    return Settings.model_construct(
        model=tuple(paths),
        device=options.device,
        precision=options.precision,
        instruction_set=choose_instruction_set(),
        max_slots=options.max_slots,
        max_beam_size=_widest_beam(paths, options),
        max_source_tokens=options.max_source_tokens or 0,
        max_waiting_sentences=_UNLIMITED,
        max_waiting_tokens=_UNLIMITED,
        scheduling="first-come",
    )


def _widest_beam(paths: Sequence[Path], options: OfflineOptions) -> int:
    """At least that of second translations, so that these are those of a server."""
    usual = options.beam_size or max(read_info(path).decoding.beam_size for path in paths)
    return max(usual, options.max_beam_size or 0, LEAST_BEAM)
