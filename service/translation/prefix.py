"""Check that a request's target prefixes fit into the translations."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.options import DecodingOptions
from service.errors import InvalidField


class PrefixBounds:
    """The bound on the prefixes of one model's translations, in tokens.

    The bound is the least of `most`, the server's limit, and the options' `max_length`, or without
    that their limit for the source's length. A prefix must have fewer tokens, so that the end
    token fits too; `tags` are the language tokens that the model puts before it.
    """

    def __init__(self, options: DecodingOptions, most: int, tags: Sequence[int]) -> None:
        self._options, self._most, self._num_tags = options, most, len(tags)

    def require_possible(self, beginnings: Sequence[Sequence[int]]) -> None:
        """Raise InvalidField if a prefix does not fit for any source length."""
        limit = min(self._options.max_length or self._most, self._most)
        for place, ids in enumerate(beginnings or [()]):
            self._require(len(ids), limit, _where(place, beginnings))

    def require_fitting(
        self, beginnings: Sequence[Sequence[int]], source_lengths: Sequence[int]
    ) -> None:
        """Raise InvalidField if a prefix does not fit its source.

        `source_lengths` are in tokens, tags included; the last sources may have no prefix.
        """
        for place, length in enumerate(source_lengths):
            limit = min(self._options.target_limit(length), self._most)
            num_tokens = len(beginnings[place]) if place < len(beginnings) else 0
            self._require(num_tokens, limit, _where(place, beginnings))

    def _require(self, num_tokens: int, limit: int, where: str) -> None:
        if self._num_tags + num_tokens < limit:
            return
        if num_tokens == 0:
            raise InvalidField(
                f"max_length must be at least {self._num_tags + 1}, with room for the language tag "
                f"that a translation begins with, got {limit}"
            )
        tag = f" (the language tag takes {self._num_tags})" if self._num_tags else ""
        raise InvalidField(
            f"target_prefix must have less than {self._named(limit)}{tag}, got {num_tokens}{where}"
        )

    def _named(self, limit: int) -> str:
        if limit == self._options.max_length:
            return f"max_length ({limit}) tokens"
        if limit == self._most:
            return f"{limit} tokens"
        return f"{limit} tokens for so short a sentence unless max_length allows more"


def _where(place: int, beginnings: Sequence[Sequence[int]]) -> str:
    return f" for sentence {place + 1}" if len(beginnings) > 1 else ""
