"""Translate files: parsing and writing run in a thread, and segments pass the engine in parts."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import itertools
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from service.errors import DocumentTooLarge, Overloaded, ServiceError
from service.translation.dispatcher import Dispatcher
from service.translation.documents.formats import FileFormat, format_of, parse_file
from service.translation.documents.segments import FileOptions, ParsedFile, Segment
from service.translation.job import AUTO, TextFormat, TranslationJob
from service.translation.text_pool import TextPool, cost_of

_PART_SEGMENTS, _PART_CHARACTERS = 32, 2000
_SAMPLE_CHARACTERS = 4000
_MAX_FILES = 16
Progress = Callable[[int, int], None]
"""Gets the number of characters that are translated, and of all."""
Counted = Callable[[int], Awaitable[None]]
"""Gets the number of characters to translate; an error that it raises refuses the file."""


@dataclass(frozen=True)
class FileJob:
    """A file to translate. `job`: languages and options, without texts; `replaces`: translate also
    what has a translation in the file already."""

    name: str
    content: bytes
    job: TranslationJob
    replaces: bool = False


@dataclass(frozen=True)
class TranslatedFile:
    """A file's translation, and the number of characters of its source's texts."""

    content: bytes
    format: FileFormat
    num_characters: int


class FileTranslator:
    """Translates files with the dispatcher. Each has at most `num_parts` parts in the engine at a
    time, so that a long file does not hold back others."""

    def __init__(self, dispatcher: Dispatcher, max_characters: int, num_parts: int = 2) -> None:
        self._dispatcher, self._max_characters = dispatcher, max_characters
        self._num_parts, self._num_files = num_parts, 0
        self._pool = TextPool(num_threads=2)

    def close(self) -> None:
        self._pool.close()

    async def translate(
        self,
        work: FileJob,
        on_progress: Progress | None = None,
        on_counted: Counted | None = None,
    ) -> TranslatedFile:
        """Raises a ServiceError. The deadline counts from the call."""
        file_format = format_of(work.name)
        cost = cost_of(1, len(work.content))
        self._pool.require_room(cost)
        if self._num_files >= _MAX_FILES:
            raise Overloaded(f"{_MAX_FILES} files are being translated; try again later")
        self._num_files += 1
        try:
            with self._dispatcher.in_progress():
                return await self._translate(work, file_format, cost, on_progress, on_counted)
        finally:
            self._num_files -= 1

    async def _translate(
        self,
        work: FileJob,
        file_format: FileFormat,
        cost: int,
        on_progress: Progress | None,
        on_counted: Counted | None,
    ) -> TranslatedFile:
        run = _FileRun(self._dispatcher, work.job, self._num_parts, on_progress)
        parse = functools.partial(parse_file, work.content, work.name, self._options(work))
        parsed = await self._pool.run(cost, parse)
        num_characters = await self._pool.run(cost, functools.partial(_count, parsed))
        if num_characters > self._max_characters:
            raise DocumentTooLarge(
                f"the file has {num_characters} characters to translate, at most "
                f"{self._max_characters} are allowed"
            )
        if on_counted is not None:
            await on_counted(num_characters)
        translations = await run.translate(parsed.segments, num_characters)
        write = functools.partial(parsed.write, translations)
        content = await self._pool.run(cost, write)
        return TranslatedFile(content, file_format, num_characters)

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

    async def translate(self, segments: Sequence[Segment], num_characters: int) -> list[str]:
        """The translations in order. The first part asks for room; later ones go on with it."""
        job = dataclasses.replace(self._job, source=await self._source(segments))
        done: dict[int, list[str]] = {}
        parts = enumerate(_parts(segments))
        num_done = 0

        async def translate_some(most: int | None, *, is_admitted: bool) -> None:
            nonlocal num_done
            for number, part in itertools.islice(parts, most):
                one = self._part_job(job, part, is_admitted=is_admitted)
                done[number] = [result.text for result in await self._dispatcher.translate(one)]
                num_done += sum(map(len, one.texts))
                if self._on_progress is not None:
                    self._on_progress(num_done, num_characters)

        if not segments:
            await self._dispatcher.translate(job)  # checks the languages
        await translate_some(1, is_admitted=False)
        await self._together(translate_some)
        return [text for number in range(len(done)) for text in done[number]]

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

    def _part_job(
        self, job: TranslationJob, part: Sequence[Segment], *, is_admitted: bool
    ) -> TranslationJob:
        """`part` has segments that are written alike."""
        ends = self._ends_seconds
        return dataclasses.replace(
            job,
            texts=[segment.text for segment in part],
            format=part[0].format,
            split_sentences=part[0].split_sentences,
            deadline_seconds=None if ends is None else max(0.0, ends - time.monotonic()),
            is_admitted=is_admitted,
        )

    async def _source(self, segments: Sequence[Segment]) -> str:
        """The language of the file: of its beginning, if it is not named."""
        if self._job.source != AUTO or not segments:
            return self._job.source
        sample, size = [], 0
        for segment in segments:
            sample.append(segment)
            size += len(segment.text)
            if size >= _SAMPLE_CHARACTERS:
                break
        text_format: TextFormat = "html" if any(one.format == "html" for one in sample) else "text"
        text = "\n".join(segment.text for segment in sample)[: 2 * _SAMPLE_CHARACTERS]
        job = dataclasses.replace(self._job, texts=[text], format=text_format)
        return await self._dispatcher.detect_source(job)


def _parts(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Neighbouring segments that are written alike, a few at a time."""
    part: list[Segment] = []
    size = 0
    for segment in segments:
        is_full = len(part) >= _PART_SEGMENTS or size + len(segment.text) > _PART_CHARACTERS
        if part and (is_full or part[0][1:] != segment[1:]):
            yield part
            part, size = [], 0
        part.append(segment)
        size += len(segment.text)
    if part:
        yield part


def _count(parsed: ParsedFile) -> int:
    return sum(len(segment.text) for segment in parsed.segments)
