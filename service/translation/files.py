"""Translate files: read in a process of their own, translated in parts, and written in another."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from service.errors import Overloaded, ServiceError, TooManyAtOnce
from service.translation.dispatcher import Dispatcher
from service.translation.document_processes import (
    Bounds,
    DocumentProcesses,
    Part,
    ReadDocument,
    Task,
    part_of,
)
from service.translation.documents.formats import FileFormat, format_of
from service.translation.documents.segments import FileOptions
from service.translation.job import AUTO, TextFormat, TranslationJob

_SAMPLE_CHARACTERS = 4000
_MAX_FILES, _MAX_FILES_OF_CLIENT = 16, 12
_RETRY_SECONDS = 5
Progress = Callable[[int, int], None]
"""Gets the number of characters that are translated, and of all."""
Counted = Callable[[int], Awaitable[None]]
"""Gets the number of characters to translate; an error that it raises refuses the file."""


@dataclass(frozen=True)
class FileJob:
    """A file to translate. `job`: languages and options, without texts; `replaces`: translate also
    what has a translation in the file already; `client`: whose files take turns."""

    name: str
    content: bytes
    job: TranslationJob
    replaces: bool = False
    client: str = ""


@dataclass(frozen=True)
class TranslatedFile:
    """A file's translation, and the number of characters of its source's texts."""

    content: bytes
    format: FileFormat
    num_characters: int


class FileTranslator:
    """Translates files with the dispatcher. Each has at most `num_parts` parts in the engine at a
    time, so that a long file does not hold back others."""

    def __init__(
        self, dispatcher: Dispatcher, bounds: Bounds | None = None, num_parts: int = 2
    ) -> None:
        """`bounds`: of each file."""
        self._dispatcher, self._bounds = dispatcher, bounds
        self._num_parts, self._processes = num_parts, DocumentProcesses()
        self._num_files: Counter[str] = Counter()

    async def translate(
        self,
        work: FileJob,
        on_progress: Progress | None = None,
        on_counted: Counted | None = None,
    ) -> TranslatedFile:
        """Raises a ServiceError. The deadline counts from the call."""
        file_format = format_of(work.name)
        run = _FileRun(self._dispatcher, work.job, self._num_parts, on_progress)
        with self._place(work.client), self._dispatcher.in_progress():
            task = Task(work.name, work.content, self._options(work), self._bounds)
            read = await self._processes.read(work.client, task)
            if on_counted is not None:
                await on_counted(read.num_characters)
            task = dataclasses.replace(task, translations=await run.translate(read))
            content = await self._processes.run(work.client, task)
        return TranslatedFile(content, file_format, read.num_characters)

    @contextlib.contextmanager
    def _place(self, client: str) -> Iterator[None]:
        """Count a file of the client inside the block. Raises Overloaded or TooManyAtOnce."""
        if self._num_files.total() >= _MAX_FILES:
            raise Overloaded(f"{_MAX_FILES} files are being translated; try again later")
        if self._num_files[client] >= _MAX_FILES_OF_CLIENT:
            raise TooManyAtOnce(
                f"Slowdown: {_MAX_FILES_OF_CLIENT} files at the same time are allowed for a client",
                _RETRY_SECONDS,
            )
        self._num_files[client] += 1
        try:
            yield
        finally:
            self._num_files -= Counter([client])  # without those of none

    def _options(self, work: FileJob) -> FileOptions:
        """With the languages as the models spell them. Raises UnsupportedLanguage."""
        source, target = work.job.source, work.job.target
        if source != AUTO:
            source = self._dispatcher.known_language("source", source)
        target = self._dispatcher.known_language("target", target)
        return FileOptions(source, target, work.replaces)


class _FileRun:
    """The translation of one file's segments."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        job: TranslationJob,
        num_parts: int,
        on_progress: Progress | None,
    ) -> None:
        self._dispatcher, self._job = dispatcher, job
        self._num_parts, self._on_progress = num_parts, on_progress
        seconds = job.deadline_seconds
        self._ends_seconds = None if seconds is None else time.monotonic() + seconds

    async def translate(self, read: ReadDocument) -> list[bytes]:
        """The translations of each part in JSON. The first part asks for room; later ones go on
        with it."""
        job = dataclasses.replace(self._job, source=await self._source(read))
        done: dict[int, bytes] = {}
        parts = enumerate(map(part_of, read.lines))
        num_done = 0

        async def translate_some(most: int | None, *, is_admitted: bool) -> None:
            nonlocal num_done
            for number, part in itertools.islice(parts, most):
                one = self._part_job(job, part, is_admitted=is_admitted)
                texts = [result.text for result in await self._dispatcher.translate(one)]
                done[number] = json.dumps(texts).encode()
                num_done += sum(map(len, one.texts))
                if self._on_progress is not None:
                    self._on_progress(num_done, read.num_characters)

        if not read.lines:
            await self._dispatcher.translate(job)  # checks the languages
        await translate_some(1, is_admitted=False)
        await self._together(translate_some)
        return [done[number] for number in range(len(done))]

    async def _together(self, translate_some: Callable[..., Coroutine[Any, Any, None]]) -> None:
        """Translate the other parts, some at a time; the first failure cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._num_parts):
                    group.create_task(translate_some(None, is_admitted=True))
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return
        raise error

    def _part_job(self, job: TranslationJob, part: Part, *, is_admitted: bool) -> TranslationJob:
        ends = self._ends_seconds
        return dataclasses.replace(
            job,
            texts=part.texts,
            format=part.format,
            split_sentences=part.split_sentences,
            deadline_seconds=None if ends is None else max(0.0, ends - time.monotonic()),
            is_admitted=is_admitted,
        )

    async def _source(self, read: ReadDocument) -> str:
        """The language of the file: of its beginning, if it is not named."""
        if self._job.source != AUTO or not read.lines:
            return self._job.source
        sample: list[Part] = []
        size = 0
        for part in map(part_of, read.lines):
            sample.append(part)
            size += sum(map(len, part.texts))
            if size >= _SAMPLE_CHARACTERS:
                break
        text_format: TextFormat = "html" if any(one.format == "html" for one in sample) else "text"
        text = "\n".join(text for part in sample for text in part.texts)[: 2 * _SAMPLE_CHARACTERS]
        job = dataclasses.replace(self._job, texts=[text], format=text_format)
        return await self._dispatcher.detect_source(job)
