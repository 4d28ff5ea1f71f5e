"""The translations of a corpus's texts. A text that fails does not hold back the others."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from service.errors import NotReady, ServiceError
from service.translation.dispatcher import Dispatcher
from service.translation.job import TranslationJob
from service.translation.results import TranslationResult

_SCORE_DECIMALS = 3


class Translation(NamedTuple):
    """`text`: None if there was none, or it failed and `error` says why; `score`: the mean
    log-probability of its tokens, None if the network made none; `checks`: the kinds of likely
    mistakes."""

    text: str | None
    error: str = ""
    score: float | None = None
    checks: list[str] = []  # noqa: RUF012


class Translators(Protocol):
    """What translates lists of texts."""

    @property
    def num_texts(self) -> int:
        """How many texts keep it busy."""
        ...

    def submit(self, texts: Sequence[str]) -> Future[list[Translation]]:
        """Begin to translate; raises ServiceError in the result if no text can be translated any
        more."""
        ...


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


def _translation(result: TranslationResult) -> Translation:
    log_probs = [value for sentence in result.sentences for value in sentence.log_probs]
    score = round(sum(log_probs) / len(log_probs), _SCORE_DECIMALS) if log_probs else None
    kinds = [check.kind for sentence in result.sentences for check in sentence.checks]
    return Translation(result.text, "", score, list(dict.fromkeys(kinds)))
