"""The attention that aligns words, of sentences that have just ended.

Shapes: N sentences, T target and S source tokens of the longest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from model.backends.pytorch.search import Search
from model.backends.pytorch.transfer import DeviceToHost, Pending
from model.decoding.network_interface import Network, WholeHypotheses
from model.decoding.sentence import Hypothesis
from model.network.attention_maps import AttentionHead

_MAX_BATCH_TOKENS = 8192
Ranked = list[list[Hypothesis]]
"""The hypotheses of several sentences, each best first."""


class EndedSentence(NamedTuple):
    """A sentence whose caches still exist: its place among those that ended together, its slot and
    one of its rows, its number of source tokens, and an upper bound on its target tokens."""

    place: int
    slot: int
    row: int
    num_source_tokens: int
    most_target_tokens: int


class Aligner:
    """Adds the attention of `heads` to best hypotheses, by one teacher-forced pass of the decoder
    over all sentences that ended in the same step. The encoder does not run again."""

    def __init__(self, network: Network, search: Search, heads: Sequence[AttentionHead]) -> None:
        self._network, self._search, self._heads = network, search, heads

    def aligned(
        self, hypotheses: Pending[Ranked], ended: Sequence[EndedSentence]
    ) -> Pending[Ranked]:
        """The same hypotheses; the best one of each of the `ended` sentences has its attention.
        Call it before the sentences are evicted."""
        return _Aligned(hypotheses, [(part, self._start(part)) for part in _batches(ended)])

    @torch.inference_mode()
    def _start(self, ended: Sequence[EndedSentence]) -> Pending[NDArray[np.float32]]:
        """Start the pass and the copy of its result (N, T, S) to the host."""
        slots = [sentence.slot for sentence in ended]
        most = max(sentence.most_target_tokens for sentence in ended)
        best = self._search.best(slots, most)
        attention = self._network.attention(
            WholeHypotheses(
                slots,
                [sentence.row for sentence in ended],
                *best,
                longest_source=max(sentence.num_source_tokens for sentence in ended),
            ),
            self._heads,
        )
        return DeviceToHost([attention], lambda copy: copy.numpy())


class _Aligned:
    """Hypotheses and their attention, which arrive separately."""

    def __init__(
        self,
        hypotheses: Pending[Ranked],
        passes: Sequence[tuple[Sequence[EndedSentence], Pending[NDArray[np.float32]]]],
    ) -> None:
        self._hypotheses, self._passes = hypotheses, passes

    def wait(self) -> Ranked:
        ranked = list(self._hypotheses.wait())
        for ended, attention in self._passes:
            for sentence, found in zip(ended, attention.wait(), strict=True):
                ranked[sentence.place] = _with_attention(ranked[sentence.place], sentence, found)
        return ranked


def _with_attention(
    hypotheses: list[Hypothesis], sentence: EndedSentence, found: NDArray[np.float32]
) -> list[Hypothesis]:
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
