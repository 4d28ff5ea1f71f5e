"""Translate files: read in a process of their own, translated in parts, and written in another."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.documents.formats import FileFormat, format_of
from service.documents.processes import (
    DocumentBounds,
    DocumentPart,
    DocumentProcesses,
    ReadDocument,
    SentDocument,
)
from service.documents.segments import FileOptions
from service.errors import ServiceError
from service.translation.dispatcher import Dispatcher
from service.translation.job import AUTO, TextFormat, TranslationJob
from service.translation.markup.coded_text import Text

_SAMPLE_CHARACTERS = 4000
OnProgress = Callable[[int, int], None]
"""Gets the number of characters that are translated, and of all."""
Counted = Callable[[int, float], Awaitable[None]]
"""Gets the number of characters to translate, and the seconds of CPU time that reading took; an
error that it raises refuses the file."""


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
    """A file's translation, the number of characters of its source's texts, and the language that
    they are in, or "auto" without texts."""

    content: bytes
    format: FileFormat
    num_characters: int
    source: str


class Documents(Protocol):
    """Reads documents, and writes their translations."""

    async def read(self, client: str, document: SentDocument) -> ReadDocument: ...

    async def write(
        self, client: str, document: SentDocument, translations: Sequence[Text]
    ) -> bytes: ...


class FileTranslator:
    """Translates files with the dispatcher. Each has at most `num_parts` parts in the engine at a
    time, so that a long file does not hold back others."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        bounds: DocumentBounds | None = None,
        num_parts: int = 2,
        documents: Documents | None = None,
    ) -> None:
        """`bounds`: of each file; `documents`: None is in processes of their own."""
        self._dispatcher, self._bounds = dispatcher, bounds
        self._num_parts = num_parts
        self._processes: Documents = documents or DocumentProcesses()

    def check(self, name: str, job: TranslationJob) -> FileFormat:
        """The format of a file's translation. Raises UnsupportedFile or UnsupportedLanguage, before
        the file is read."""
        target = self._dispatcher.known_language("target", job.target)
        if job.source != AUTO:
            self._dispatcher.route(job.source, target, job.model)
        return format_of(name)

    async def translate(
        self,
        work: FileJob,
        on_progress: OnProgress | None = None,
        on_counted: Counted | None = None,
    ) -> TranslatedFile:
        """Raises a ServiceError."""
        file_format, client = format_of(work.name), work.job.ticket.client
        with self._dispatcher.in_progress():
            document = SentDocument(work.name, work.content, self._options(work), self._bounds)
            found = await self._processes.read(client, document)
            run = _FileRun(self._dispatcher, work.job, found.parts, on_progress)
            if on_counted is not None:
                await on_counted(run.num_characters, found.seconds)
            translations = await run.translate(self._num_parts)
            content = await self._processes.write(client, document, translations)
        return TranslatedFile(content, file_format, run.num_characters, run.source)

    def _options(self, work: FileJob) -> FileOptions:
        """With the languages as the models spell them. Raises UnsupportedLanguage."""
        source, target = work.job.source, work.job.target
        if source != AUTO:
            source = self._dispatcher.known_language("source", source)
        target = self._dispatcher.known_language("target", target)
        return FileOptions(source, target, work.replaces)


class _FileRun:
    """The translation of one file's parts."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        job: TranslationJob,
        parts: Sequence[DocumentPart],
        on_progress: OnProgress | None,
    ) -> None:
        self._dispatcher, self._job = dispatcher, job
        self._parts, self._on_progress = parts or [DocumentPart("text", True, [], 0)], on_progress
        self.num_characters = sum(part.num_characters for part in parts)
        self._num_done = 0
        self.source = job.source

    async def translate(self, num_at_once: int) -> Sequence[Text]:
        """The translations of all texts. The first part asks for room; later ones go on with it.
        The first failure cancels the others."""
        self.source = await self._source()
        job = dataclasses.replace(self._job, source=self.source)
        places = asyncio.Semaphore(num_at_once)
        admitted = dataclasses.replace(job, ticket=job.ticket.admitted())

        async def translate_in_turn(part: DocumentPart) -> Sequence[Text]:
            async with places:
                return await self._translated(admitted, part)

        first = await self._translated(job, self._parts[0])
        try:
            async with asyncio.TaskGroup() as group:
                others = [group.create_task(translate_in_turn(part)) for part in self._parts[1:]]
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return [*first, *itertools.chain.from_iterable(other.result() for other in others)]
        raise error

    async def _translated(self, job: TranslationJob, part: DocumentPart) -> Sequence[Text]:
        one = dataclasses.replace(
            job,
            texts=part.texts,
            format=part.format,
            split_sentences=part.split_sentences,
        )
        translations = [result.written for result in await self._dispatcher.translate(one)]
        self._num_done += part.num_characters
        if self._on_progress is not None and part.texts:
            self._on_progress(self._num_done, self.num_characters)
        return translations

    async def _source(self) -> str:
        """The language of the file: of its beginning, if it is not named."""
        if self._job.source != AUTO or not self.num_characters:
            return self._job.source
        ends = itertools.accumulate(part.num_characters for part in self._parts)
        sample = self._parts[: 1 + sum(end < _SAMPLE_CHARACTERS for end in ends)]
        text_format: TextFormat = "html" if any(one.format == "html" for one in sample) else "text"
        texts = (
            text if isinstance(text, str) else text.read() for part in sample for text in part.texts
        )
        text = "\n".join(texts)[: 2 * _SAMPLE_CHARACTERS]
        job = dataclasses.replace(self._job, texts=[text], format=text_format)
        return await self._dispatcher.detect_source(job)
