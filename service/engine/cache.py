"""A bounded cache of finished sentences. Pure Python; only the event loop uses it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence

from model.decoding.sentence import Hypothesis, SourceSentence

_ENTRY_BYTES, _HYPOTHESIS_BYTES = 1500, 400
_ID_BYTES, _TOKEN_BYTES = 40, 72
"""What CPython takes for an entry, a hypothesis, an id, and an id with its log-probability."""


def key_of(sentence: SourceSentence) -> SourceSentence:
    """All that a model's translation of a sentence depends on. Whether it is streamed does not
    matter; a sample depends on the seed, which is one of the options."""
    return dataclasses.replace(
        sentence, ids=tuple(sentence.ids), prefix=tuple(sentence.prefix), is_streamed=False
    )


class SentenceCache:
    """Hypotheses of sentences of one model. The least recently used go first when the bytes, which
    are estimated, exceed `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._entries: OrderedDict[SourceSentence, Sequence[Hypothesis]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: SourceSentence) -> Sequence[Hypothesis] | None:
        """Return the sentence's hypotheses, best first, or None."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: SourceSentence, hypotheses: Sequence[Hypothesis]) -> None:
        """Keep the hypotheses, unless they alone exceed the bound."""
        if key in self._entries or entry_bytes(key, hypotheses) > self.max_bytes:
            return
        self._entries[key] = hypotheses
        self.num_bytes += entry_bytes(key, hypotheses)
        while self.num_bytes > self.max_bytes:
            self.num_bytes -= entry_bytes(*self._entries.popitem(last=False))


def entry_bytes(key: SourceSentence, hypotheses: Sequence[Hypothesis]) -> int:
    """An upper estimate of the memory of an entry."""
    forms = (form.ids for term in key.terms for form in term.forms)
    num_ids = len(key.ids) + len(key.prefix) + sum(map(len, forms))
    num_bytes = _ENTRY_BYTES + _ID_BYTES * num_ids
    for hypothesis in hypotheses:
        num_bytes += _HYPOTHESIS_BYTES + _TOKEN_BYTES * len(hypothesis.log_probs)
        if hypothesis.attention is not None:
            num_bytes += hypothesis.attention.nbytes
    return num_bytes
