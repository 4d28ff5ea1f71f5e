"""The attention of one translated sentence, for people who study the network."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from model.decoding.sentence import AttentionTables
from model.network.config import ModelConfig
from service.engine.interfaces import Tokenizer
from service.errors import InvalidField, Overloaded
from service.translation.job import ModelJob
from service.translation.results import SentenceAttention, SentenceResult, TranslationResult

MAX_ENTRIES = 500_000
"""Probabilities in an answer: about 4 MB of JSON."""
_MAX_WAITING = 16
ComputeAttention = Callable[[Sequence[int], Sequence[int]], AttentionTables]


@dataclass(frozen=True)
class InspectedModel:
    """A network's shape, and its attention for source and target ids; `compute` is None if the
    network is too large."""

    config: ModelConfig
    compute: ComputeAttention | None


class Inspector:
    """Adds attention to results, one sentence at a time, in a thread of the event loop."""

    def __init__(self, model: InspectedModel, tokenizer: Tokenizer) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._turn = asyncio.Lock()
        self._num_waiting = 0

    def require_possible(self, num_sentences: int) -> None:
        """Raise InvalidField if this model, or so many sentences, cannot be inspected."""
        if self._model.compute is None:
            raise InvalidField(
                'details must be true or false, got "attention", for which this model is too large'
            )
        if num_sentences != 1:
            raise InvalidField(
                f'details "attention" is for a text of one sentence, got {num_sentences}'
            )

    async def inspected(
        self, work: ModelJob, results: Sequence[TranslationResult]
    ) -> list[TranslationResult]:
        """The results with the attention of their only sentence.

        Raises InvalidField if it is too long, Overloaded if too many wait.
        """
        (result,) = (result for result in results if result.sentences)
        (sentence,) = result.sentences
        described = await self._describe(work, sentence)
        sentences = [dataclasses.replace(sentence, attention=described)]
        replaced = dataclasses.replace(result, sentences=sentences)
        return [replaced if other is result else other for other in results]

    async def _describe(self, work: ModelJob, sentence: SentenceResult) -> SentenceAttention:
        source = self._tokenizer.encode_source(sentence.source, work.target, work.source)
        target = list(sentence.best.ids)
        tokens = list(self._tokenizer.pieces(target))
        if sentence.best.finish_reason == "stop":
            target.append(self._model.config.eos_id)
            tokens += self._tokenizer.pieces(target[-1:])
        self._require_fitting(len(source), len(target))
        tables = await self._compute(source, target)
        return SentenceAttention(self._tokenizer.source_tokens(source), tokens, tables)

    def _require_fitting(self, num_source: int, num_target: int) -> None:
        config = self._model.config
        encoder = config.n_encoder_layers * num_source**2
        decoder = config.n_decoder_layers * num_target * (num_target + num_source)
        if (count := config.n_heads * (encoder + decoder)) > MAX_ENTRIES:
            raise InvalidField(
                f'details "attention" gives at most {MAX_ENTRIES} numbers, and a sentence of '
                f"{num_source} tokens whose translation has {num_target} needs {count}"
            )

    async def _compute(self, source: Sequence[int], target: Sequence[int]) -> AttentionTables:
        assert self._model.compute is not None
        if self._num_waiting >= _MAX_WAITING:
            raise Overloaded("too many requests for attention wait; try again later")
        self._num_waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(
                    functools.partial(self._model.compute, source, target)
                )
        finally:
            self._num_waiting -= 1
