"""Assemble one text's streamed translation: takes tokens of sentences, gives text in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.engine.interfaces import StreamDecoder
from service.translation.results import TextPiece


class StreamAssembler:
    """Accepts sentences in any order and gives pieces in text order.

    The joined pieces are the whole text: gap, translation, gap, ..., last gap.
    """

    def __init__(
        self, text_index: int, gaps: Sequence[str], decoders: Sequence[StreamDecoder]
    ) -> None:
        """`gaps`: the text before each sentence, and after the last."""
        self._text_index, self._gaps, self._decoders = text_index, gaps, decoders
        self._texts = ["" for _ in decoders]
        self._is_final = [False for _ in decoders]
        self._current = 0
        self._num_told = -1

    def grow(self, sentence: int, ids: Sequence[int]) -> None:
        """Add final tokens to a sentence."""
        decoder = self._decoders[sentence]
        self._texts[sentence] += "".join(decoder.push(token) for token in ids)

    def finish(self, sentence: int, text: str) -> None:
        """Set a sentence's whole translation; it begins with the text grown so far."""
        self._texts[sentence] = text
        self._is_final[sentence] = True

    def pieces(self) -> Iterator[TextPiece]:
        """The pieces that are new since the last call."""
        while self._current < len(self._texts):
            if piece := self._next_of_current():
                yield TextPiece(self._text_index, self._current, piece)
            if not self._is_final[self._current]:
                return
            self._current += 1
            self._num_told = -1
        if self._current == len(self._texts):
            self._current += 1
            if gap := self._gaps[-1]:
                yield TextPiece(self._text_index, max(0, len(self._texts) - 1), gap)

    def _next_of_current(self) -> str:
        """The current sentence's new text; the gap comes before its first text."""
        text = self._texts[self._current]
        if self._num_told < 0:
            if not text and not self._is_final[self._current]:
                return ""
            self._num_told = len(text)
            return self._gaps[self._current] + text
        piece, self._num_told = text[self._num_told :], len(text)
        return piece
