"""The ids that the network reads of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer


class SentenceEncoder:
    """Encodes sentences to source ids with tags and eos; caches those within `max_tokens`."""

    def __init__(self, tokenizer: Tokenizer, source: str, target: str, max_tokens: int) -> None:
        self._tokenizer, self._source, self._target = tokenizer, source, target
        self.max_tokens = max_tokens
        self._known: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the sentence's source ids."""
        if (known := self._known.get(text)) is not None:
            return known
        ids = self._tokenizer.encode_source(text, self._target, self._source)
        if len(ids) <= self.max_tokens:
            self._known[text] = ids
        return ids
