"""The attention that aligns words, of sentences that have just ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from model.decoding.decoder import Decoder, EndedSentence, Pending, Ranked
from model.decoding.sentence import Hypothesis

_MAX_BATCH_TOKENS = 8192


class AlignedHypotheses:
    """Hypotheses, the best one of each of the `ended` sentences with its attention, by a
    teacher-forced pass of the decoder over all sentences that ended in the same step. The encoder
    does not run again."""

    def __init__(
        self, decoder: Decoder, hypotheses: Pending[Ranked], ended: Sequence[EndedSentence]
    ) -> None:
        """Start it, before the sentences are evicted."""
        self._hypotheses = hypotheses
        self._passes = [(part, decoder.attention(part)) for part in _batches(ended)]

    def wait(self) -> Ranked:
        ranked = list(self._hypotheses.wait())
        for ended, attention in self._passes:
            for sentence, found in zip(ended, attention.wait(), strict=True):
                ranked[sentence.place] = _with_attention(ranked[sentence.place], sentence, found)
        return ranked


def _with_attention(
    hypotheses: list[Hypothesis], sentence: EndedSentence, found: NDArray[np.float32]
) -> list[Hypothesis]:
    """`found`: the attention (T, S) of a sentence's best hypothesis."""
    if not hypotheses:
        return hypotheses
    best, *others = hypotheses
    attention = found[: len(best.ids), : sentence.num_source_tokens].copy()
    return [dataclasses.replace(best, attention=attention), *others]


def _batches(ended: Sequence[EndedSentence]) -> Iterator[Sequence[EndedSentence]]:
    """Split into passes of bounded size."""
    most = max(sentence.most_target_tokens for sentence in ended)
    size = max(1, _MAX_BATCH_TOKENS // most)
    for start in range(0, len(ended), size):
        yield ended[start : start + size]
