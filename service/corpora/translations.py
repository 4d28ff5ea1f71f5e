"""Translations of texts and documents. One that fails does not hold back the others."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

from service.documents.file_translator import FileJob, FileTranslator, OnProgress
from service.errors import NotReady, ServiceError
from service.offline import awaited
from service.translation.dispatcher import Dispatcher
from service.translation.job import TranslationJob
from service.translation.results import TranslationResult

_SCORE_DECIMALS = 3
_Result = TypeVar("_Result")


class Translation(NamedTuple):
    """`text`: None if there was none, or it failed and `error` says why; `score`: the mean
    log-probability of its tokens, None if the network made none; `checks`: the kinds of likely
    mistakes; `language`: what was detected, if that was asked for and the text has letters."""

    text: str | None
    error: str = ""
    score: float | None = None
    checks: list[str] = []  # noqa: RUF012
    language: str = ""


class DocumentTranslation(NamedTuple):
    """A document's bytes, or why it has no translation."""

    content: bytes
    error: str = ""


class TextTranslators(Protocol):
    """What translates lists of texts."""

    @property
    def num_texts(self) -> int:
        """How many texts keep it busy."""
        ...

    def submit(self, texts: Sequence[str], source: str | None = None) -> Future[list[Translation]]:
        """Begin to translate; raises ServiceError in the result if no text can be translated any
        more. `source`: None is the language that was named for all."""
        ...


class Translators(TextTranslators, Protocol):
    """What translates documents, too."""

    def submit_document(
        self, name: str, content: bytes, on_progress: OnProgress, *, replaces: bool
    ) -> Future[DocumentTranslation]:
        """As `submit`. `name`: its ending tells the format; `replaces`: also what the document has
        a translation of."""
        ...


class OpenTranslators(Protocol):
    """`translators_of` for languages and models."""

    def __call__(
        self, *, is_checked: bool = False, in_one_process: bool = False
    ) -> AbstractContextManager[Translators]: ...


def finished(begun: Future[_Result]) -> _Result:
    """The result of what was submitted. Raises ValueError if the engine has ended."""
    try:
        return awaited(begun)
    except ServiceError as error:
        raise ValueError("the engine has ended") from error


async def translate_texts(
    dispatcher: Dispatcher, template: TranslationJob, texts: Sequence[str]
) -> list[Translation]:
    """Translate each text. Raises NotReady if the engine does not run."""
    try:
        results = await dispatcher.translate(dataclasses.replace(template, texts=texts))
    except NotReady:
        raise
    except ServiceError as error:
        if len(texts) == 1:
            return [Translation(None, str(error))]
        each = (translate_texts(dispatcher, template, [text]) for text in texts)
        return [one for (one,) in await asyncio.gather(*each)]
    return [_translation(result) for result in results]


async def translate_document(
    files: FileTranslator, work: FileJob, on_progress: OnProgress
) -> DocumentTranslation:
    """Raises NotReady if the engine does not run."""
    try:
        return DocumentTranslation((await files.translate(work, on_progress)).content)
    except NotReady:
        raise
    except ServiceError as error:
        return DocumentTranslation(b"", str(error))


def _translation(result: TranslationResult) -> Translation:
    log_probs = [value for sentence in result.sentences for value in sentence.log_probs]
    score = round(sum(log_probs) / len(log_probs), _SCORE_DECIMALS) if log_probs else None
    kinds = [check.kind for sentence in result.sentences for check in sentence.checks]
    found = result.detection
    language = found.language if found is not None and found.confidence else ""
    return Translation(result.text, "", score, list(dict.fromkeys(kinds)), language)
