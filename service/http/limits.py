"""Limits of one request."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import TextTooLong, TooManyTexts

OVER_LIMIT = "request exceeds text limit"
"""LibreTranslate's words, which clients look for in the message."""


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one request, and of the streams of one connection."""

    max_body_bytes: int
    max_characters: int
    max_texts: int
    max_beam_size: int
    max_target_tokens: int
    max_streams: int
    stream_idle_seconds: float
    deadline_seconds: float | None
    max_document_bytes: int = 10_485_760
    documents_seconds: float = 3600.0

    @functools.cached_property
    def greatest(self) -> dict[str, int]:
        """The greatest values of fields that this server bounds."""
        return {"beam_size": self.max_beam_size, "alternatives": self.max_beam_size - 1}

    def check_texts(self, field: str, texts: Sequence[str]) -> None:
        """Raises TooManyTexts or TextTooLong."""
        if len(texts) > self.max_texts:
            raise TooManyTexts(
                f"{OVER_LIMIT}: {field} has {len(texts)} texts, "
                f"at most {self.max_texts} are allowed"
            )
        self.check_length(field, texts)

    def check_length(self, field: str, texts: Sequence[str]) -> None:
        """Raises TextTooLong."""
        num_characters = sum(map(len, texts))
        if num_characters > self.max_characters:
            raise TextTooLong(
                f"{OVER_LIMIT}: {field} has {num_characters} characters, "
                f"at most {self.max_characters} are allowed"
            )
