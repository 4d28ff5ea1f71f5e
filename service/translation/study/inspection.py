"""The work of the network on one translated sentence, for people who study it: its attention, or
its beam search."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from model.checkpoint import CheckpointError
from model.decoding.search_trace import SearchTrace
from model.decoding.sentence import AttentionTables, SourceSentence
from model.network.config import ModelConfig
from service.errors import InvalidField, NotReady, Overloaded
from service.translation.job import Inspection, ModelJob
from service.translation.results import (
    Attention,
    SearchDetail,
    SentenceDetail,
    TranslationResult,
)

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

MAX_PROBABILITIES = 500_000
"""Probabilities in an answer: about 4 MB of JSON."""
MAX_CANDIDATES = 20_000
"""Candidates in an answer: about 3 MB of JSON."""
_MAX_WAITING = 16
ComputeAttention = Callable[[Sequence[int], Sequence[int]], AttentionTables]
TraceSearch = Callable[[SourceSentence, int], SearchTrace]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class InspectedModel:
    """A network's shape; its attention for source and target ids; and the search of a sentence
    whose translation has at most so many tokens. Both are None if the network is too large."""

    config: ModelConfig
    compute: ComputeAttention | None
    trace: TraceSearch | None


class Inspector:
    """Adds attention or search to results, one sentence at a time, in a thread of the event
    loop."""

    def __init__(self, model: InspectedModel, tokenizer: Tokenizer, max_target_tokens: int) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._max_target_tokens = max_target_tokens
        self._thread = ThreadPoolExecutor(1, "inspection")
        """One, which goes on when its client has left, and only then begins with the next."""
        self._num_waiting = 0

    def require_possible(self, wanted: Inspection, sentences: Sequence[SourceSentence]) -> None:
        """Raise InvalidField if this model, or these sentences, cannot be inspected."""
        if self._model.compute is None:
            raise InvalidField(
                f'details must be true or false, got "{wanted}", for which this model is too large'
            )
        if len(sentences) != 1:
            raise InvalidField(
                f'details "{wanted}" is for a text of one sentence, got {len(sentences)}'
            )
        if wanted == "search":
            self._require_short(sentences[0])

    async def inspected(
        self,
        work: ModelJob,
        sentences: Sequence[SourceSentence],
        results: Sequence[TranslationResult],
    ) -> list[TranslationResult]:
        """The results with what `work` wants of their only sentence, which the engine got as the
        only one of `sentences`.

        Raises InvalidField if it is too long, Overloaded if too many wait.
        """
        (result,) = (result for result in results if result.sentences)
        (sentence,) = result.sentences
        if work.job.inspection == "search":
            search = await self._search(sentences[0], sentence)
            described = dataclasses.replace(sentence, search=search)
        else:
            attention = await self._attention(sentences[0].ids, sentence)
            described = dataclasses.replace(sentence, attention=attention)
        replaced = dataclasses.replace(result, sentences=[described])
        return [replaced if other is result else other for other in results]

    async def _attention(self, source: Sequence[int], sentence: SentenceDetail) -> Attention:
        """`source`: the ids that the network read, with carriers for kept strings."""
        assert self._model.compute is not None
        target = list(sentence.ids)
        tokens = list(self._tokenizer.pieces(target))
        if sentence.finish_reason == "stop":
            target.append(self._model.config.eos_id)
            tokens += self._tokenizer.pieces(target[-1:])
        self._require_fitting(len(source), len(target))
        tables = await self._compute(functools.partial(self._model.compute, source, target))
        return Attention(self._tokenizer.source_tokens(source), tokens, *tables)

    async def _search(self, sentence: SourceSentence, result: SentenceDetail) -> SearchDetail:
        assert self._model.trace is not None
        trace = await self._compute(
            functools.partial(self._model.trace, sentence, self._max_target_tokens)
        )
        agrees = list(trace.best) == list(result.ids)
        return SearchDetail(
            sentence.options.beam_size, trace.score, trace.path, agrees, trace.steps
        )

    def _require_fitting(self, num_source: int, num_target: int) -> None:
        config = self._model.config
        encoder = config.n_encoder_layers * num_source**2
        decoder = config.n_decoder_layers * num_target * (num_target + num_source)
        if (count := config.n_heads * (encoder + decoder)) > MAX_PROBABILITIES:
            raise InvalidField(
                f'details "attention" gives at most {MAX_PROBABILITIES} numbers, and a sentence of '
                f"{num_source} tokens whose translation has {num_target} needs {count}"
            )

    def _require_short(self, sentence: SourceSentence) -> None:
        limit = sentence.target_limit(self._max_target_tokens)
        beam_size = sentence.options.beam_size
        if (count := 2 * beam_size * limit) > MAX_CANDIDATES:
            raise InvalidField(
                f'details "search" gives at most {MAX_CANDIDATES} candidates, and a beam of '
                f"{beam_size} with up to {limit} steps may need {count}"
            )

    async def _compute(self, compute: Callable[[], _Result]) -> _Result:
        """Run it in a thread, one at a time. Raises Overloaded if too many wait, NotReady if it
        cannot read the model's files any more."""
        if self._num_waiting >= _MAX_WAITING:
            raise Overloaded("too many requests for attention or search wait; try again later")
        self._num_waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, compute)
        except CheckpointError as error:
            raise NotReady("the files of the model, which this reads, have changed") from error
        finally:
            self._num_waiting -= 1
