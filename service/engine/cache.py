"""A bounded cache of finished sentences. Pure Python; only the event loop uses it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence

_ENTRY_BYTES, _HYPOTHESIS_BYTES = 1500, 400
_ID_BYTES, _TOKEN_BYTES = 40, 72
"""What CPython takes for an entry, a hypothesis, an id, and an id with its log-probability."""


class SentenceKey(NamedTuple):
    """What a model's translation of a sentence depends on. Whether it is streamed does not matter;
    a sample depends on the seed, which is one of the options."""

    ids: tuple[int, ...]
    prefix: tuple[int, ...]
    options: DecodingOptions

    @classmethod
    def of(cls, sentence: SourceSentence) -> SentenceKey:
        return cls(tuple(sentence.ids), tuple(sentence.prefix), sentence.options)


class SentenceCache:
    """Hypotheses of sentences of one model. The least recently used go first when the bytes, which
    are estimated, exceed `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._entries: OrderedDict[SentenceKey, Sequence[Hypothesis]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: SentenceKey) -> Sequence[Hypothesis] | None:
        """Return the sentence's hypotheses, best first, or None."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: SentenceKey, hypotheses: Sequence[Hypothesis]) -> None:
        """Keep the hypotheses, unless they alone exceed the bound."""
        if key in self._entries or entry_bytes(key, hypotheses) > self.max_bytes:
            return
        self._entries[key] = hypotheses
        self.num_bytes += entry_bytes(key, hypotheses)
        while self.num_bytes > self.max_bytes:
            self.num_bytes -= entry_bytes(*self._entries.popitem(last=False))


def entry_bytes(key: SentenceKey, hypotheses: Sequence[Hypothesis]) -> int:
    """An upper estimate of the memory of an entry."""
    return (
        _ENTRY_BYTES
        + _ID_BYTES * (len(key.ids) + len(key.prefix))
        + _HYPOTHESIS_BYTES * len(hypotheses)
        + _TOKEN_BYTES * sum(len(hypothesis.log_probs) for hypothesis in hypotheses)
    )
