"""Incremental detokenisation: the text that each token of a sentence completes."""

from __future__ import annotations

import codecs
from collections.abc import Callable


class StreamDecoder:
    """Token ids in, text out; the parts joined are exactly the whole text.

    Bytes of an incomplete character are held back; bytes that never form one are dropped. The
    space that sentencepiece puts before the first word is dropped.
    """

    def __init__(self, text_of: Callable[[int], str | bytes]) -> None:
        """`text_of` spells a token: `Tokenizer.text_of`."""
        self._text_of = text_of
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._has_started = False

    def push(self, token: int) -> str:
        """The text that this token completes, possibly empty."""
        spelled = self._text_of(token)
        if isinstance(spelled, bytes):
            return self._begin(self._utf8.decode(spelled))
        return self._begin(self._utf8.decode(b"", final=True) + spelled) if spelled else ""

    def flush(self) -> str:
        """The text still held back when the sentence ends."""
        return self._begin(self._utf8.decode(b"", final=True))

    def _begin(self, text: str) -> str:
        if text and not self._has_started:
            self._has_started = True
            return text.removeprefix(" ")
        return text
