"""The required beginnings of the translations of a job's first sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from service.errors import InvalidField, shown
from service.translation.job import ModelJob
from service.translation.language.chinese import SIMPLIFIED, to_simplified
from service.translation.markup.flow import MARK
from service.translation.sentence.capitals import in_sentence_case
from service.translation.sentence.carriers import Carriers
from service.translation.sentence.parsed_text import Sentence

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_UNLIMITED = 10**9


class Prefixes:
    """The target ids that each sentence's translation begins with."""

    def __init__(
        self, tokenizer: Tokenizer, work: ModelJob, start: tuple[int, ...], max_target_tokens: int
    ) -> None:
        """`start`: ids that every translation begins with; `max_target_tokens`: of a translation.
        Raises InvalidField for a prefix with a mark."""
        for prefix in work.job.prefixes:
            if MARK in prefix:
                raise InvalidField(f"target_prefix must not have U+FFFC, got {shown(prefix)}")
        self._options, self._max_target_tokens = work.options, max_target_tokens
        self._start = start
        self._tokenizer, self._texts = tokenizer, work.job.prefixes
        if work.target == SIMPLIFIED:
            self._texts = [*map(to_simplified, self._texts)]
        self._ids = [*map(self._encoded, self._texts)]

    def of(
        self, number: int, sentence: Sentence, carriers: Carriers | None = None
    ) -> tuple[int, ...]:
        """Those of the sentence with this number, whose kept strings have these carriers."""
        if number >= len(self._ids):
            return self._start
        own = self._texts[number]
        text = carriers.carried(own) if carriers else own
        text = in_sentence_case(text) if sentence.is_in_capitals else text
        return self._ids[number] if text == own else self._encoded(text)

    def begins(self, number: int) -> bool:
        """Whether the translation of the sentence with this number has a required beginning."""
        return bool(self._texts[number:] and self._texts[number])

    def _encoded(self, text: str) -> tuple[int, ...]:
        (ids,) = self._tokenizer.encode_target_batch([text])
        return *self._start, *ids

    def require_few(self, num_sentences: int) -> None:
        """Raise InvalidField if a prefix has no sentence."""
        if len(self._ids) > num_sentences:
            raise InvalidField(
                f"target_prefix has {len(self._ids)} beginnings for {num_sentences} sentences"
            )

    def require_possible(self) -> None:
        """Raise InvalidField if they do not fit for any text."""
        self.require_room((_UNLIMITED, ids) for ids in self._ids or [self._start])

    def require_room(self, sentences: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Raise InvalidField unless the beginning of each has fewer tokens than its translation may
        have, so that the end token fits too. `sentences`: their lengths in tokens, and the ids that
        their translations begin with."""
        for number, (length, ids) in enumerate(sentences):
            limit = min(self._options.target_limit(length), self._max_target_tokens)
            if len(ids) >= limit:
                num_tokens = len(ids) - len(self._start)
                where = f" for sentence {number + 1}" if num_tokens and len(self._ids) > 1 else ""
                raise InvalidField(self._no_room(num_tokens, limit) + where)

    def _no_room(self, num_tokens: int, limit: int) -> str:
        """Says that a prefix does not fit."""
        num_tags = len(self._start)
        if num_tokens == 0:
            return (
                f"max_length must be at least {num_tags + 1}, with room for the language tag that "
                f"a translation begins with, got {limit}"
            )
        bounds = {
            self._max_target_tokens: f"{self._max_target_tokens} tokens",
            self._options.max_length: f"max_length ({self._options.max_length}) tokens",
        }
        short = f"{limit} tokens for so short a sentence unless max_length allows more"
        tag = f" (the language tag takes {num_tags})" if num_tags else ""
        told = bounds.get(limit, short)
        return f"target_prefix must have less than {told}{tag}, got {num_tokens}"
