"""The options of sentences as the rows of tables, and what running sentences need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from model.decoding.sentence import SourceSentence

_Key = TypeVar("_Key")
INTEGERS = (
    *("beam_size", "n_best", "limit", "lookahead", "top_k", "seed", "ngram_size"),
    "prefix_length",
)
NUMBERS = ("length_penalty", "temperature", "top_p", "repetition_penalty")
FLAGS = ("is_sampling", "is_wu", "is_cut")
"""The columns of `option_rows`."""


class Features(NamedTuple):
    """The features that running sentences use; a step skips the others."""

    has_sampling: bool
    has_guards: bool
    has_prefix: bool
    has_streams: bool
    max_ngram_size: int

    @classmethod
    def of(cls, sentence: SourceSentence) -> Features:
        options = sentence.options
        return cls(
            has_sampling=options.sampling,
            has_guards=options.is_guarded,
            has_prefix=len(sentence.prefix) > 0,
            has_streams=sentence.is_streamed,
            max_ngram_size=options.no_repeat_ngram_size,
        )

    @classmethod
    def union(cls, features: Iterable[Features]) -> Features:
        """The features that any of the sentences uses."""
        sampling, guards, prefixes, streams, *sizes = zip(*features, strict=True)
        flags = any(sampling), any(guards), any(prefixes), any(streams)
        return cls(*flags, *map(max, sizes))


class BatchNeeds:
    """The features of all running sentences and their longest source, kept as they come and go."""

    def __init__(self) -> None:
        self._features: Counter[Features] = Counter()
        self._lengths: Counter[int] = Counter()

    def enter(self, features: Features, num_source_tokens: int) -> None:
        self._features[features] += 1
        self._lengths[num_source_tokens] += 1

    def leave(self, features: Features, num_source_tokens: int) -> None:
        _uncount(self._features, features)
        _uncount(self._lengths, num_source_tokens)

    def of_all(self) -> tuple[Features, int]:
        """The union of the features, and the longest source in tokens."""
        return Features.union(self._features), max(self._lengths)


def option_rows(
    sentence: SourceSentence, limit: int
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[bool, ...]]:
    """One sentence's options in the order of INTEGERS, NUMBERS and FLAGS."""
    options = sentence.options
    lookahead = limit if options.lookahead is None else options.lookahead
    integers = (
        *(options.beam_size, options.n_best, limit, lookahead, options.top_k, options.seed),
        *(options.no_repeat_ngram_size, len(sentence.prefix)),
    )
    numbers = (
        *(options.length_penalty, options.temperature, options.top_p),
        options.repetition_penalty,
    )
    is_wu = options.normalization == "wu"
    return integers, numbers, (options.sampling, is_wu, sentence.is_cut)


def _uncount(counts: Counter[_Key], key: _Key) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
