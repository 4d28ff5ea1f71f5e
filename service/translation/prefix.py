"""Whether the beginning that a request asks for fits into the translation."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.options import DecodingOptions
from service.errors import InvalidField


class PrefixBounds:
    """What bounds the beginnings of one model's translations.

    The bound is the least of `most`, what the server has room for, of the options' `max_length`,
    and without that of what they allow for the source's length. A beginning must have less tokens,
    so that the end fits too; `tags` are the language tokens that the model puts before it.
    """

    def __init__(self, options: DecodingOptions, most: int, tags: Sequence[int]) -> None:
        self._options, self._most, self._num_tags = options, most, len(tags)

    def require_possible(self, beginnings: Sequence[Sequence[int]]) -> None:
        """Raise InvalidField if one would not fit however long its source were."""
        limit = min(self._options.max_length or self._most, self._most)
        for place, ids in enumerate(beginnings or [()]):
            self._require(len(ids), limit, _where(place, beginnings))

    def require_fitting(
        self, beginnings: Sequence[Sequence[int]], source_lengths: Sequence[int]
    ) -> None:
        """Raise InvalidField if one does not fit; the sources have so many tokens, tags included.
        The last ones may have no beginning."""
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
