"""Translate a corpus: many batches at the same time, written in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic

from service.corpora.corpus import Corpus, CorpusBatch, KeptT
from service.corpora.progress import CorpusProgress
from service.corpora.translations import TextTranslators, Translation, finished
from service.offline import TIMES_AHEAD, some_ahead

_LEAST_AHEAD = 4


@dataclass(frozen=True)
class _Begun(Generic[KeptT]):
    """A batch whose texts are translated. `places`: theirs among the records."""

    batch: CorpusBatch[KeptT]
    places: Sequence[int]
    translations: Future[list[Translation]]


def translate_corpus(
    corpus: Corpus[KeptT], translators: TextTranslators, progress: CorpusProgress
) -> int:
    """Translate what is not written yet -> how many records of the whole output failed.

    Raises ValueError, after what was read before is written.
    """
    begun = (_begin(batch, translators) for batch in corpus.batches())
    num_texts = TIMES_AHEAD * translators.num_texts
    num_ahead = max(_LEAST_AHEAD, math.ceil(num_texts / corpus.batch_records))
    for one in some_ahead(begun, num_ahead):
        translations = _translations(one)
        corpus.write(one.batch, translations)
        progress.set_before(corpus.num_done, corpus.num_failed)
        progress.add(translations, one.batch.fraction)
    corpus.finish()
    progress.set_before(corpus.num_done, corpus.num_failed)
    return progress.num_failed


def translate_batch(batch: CorpusBatch[KeptT], translators: TextTranslators) -> list[Translation]:
    """Of each record. Raises ValueError if the engine has ended."""
    return _translations(_begin(batch, translators))


def _begin(batch: CorpusBatch[KeptT], translators: TextTranslators) -> _Begun[KeptT]:
    asked = {place: text for place, text in enumerate(batch.texts) if text and text.strip()}
    return _Begun(batch, [*asked], translators.submit([*asked.values()]))


def _translations(begun: _Begun[KeptT]) -> list[Translation]:
    """Of each record of the batch. Raises ValueError if the engine has ended."""
    batch = begun.batch
    done = [Translation(text) for text in batch.texts]
    try:
        found = finished(begun.translations)
    except ValueError as error:
        raise ValueError(f"{error}; --resume goes on with what is written") from error
    for place, translation in zip(begun.places, found, strict=True):
        done[place] = translation
    for place, reason in batch.errors.items():
        done[place] = Translation(None, reason)
    return done
