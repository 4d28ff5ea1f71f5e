"""What one request may ask for, the same over HTTP and over a websocket."""

from __future__ import annotations

from service.errors import TextTooLong, TooManyTexts, UnsupportedFormat
from service.routes.state import Limits
from service.schemas import TranslateRequest


def check_limits(wanted: TranslateRequest, limits: Limits) -> None:
    """Raise UnsupportedFormat, TooManyTexts or TextTooLong."""
    if wanted.format != "text":
        raise UnsupportedFormat(f'format "{wanted.format}" is not supported yet; send "text"')
    if len(wanted.texts) > limits.max_texts:
        raise TooManyTexts(
            f"q has {len(wanted.texts)} texts, at most {limits.max_texts} are allowed"
        )
    num_characters = sum(map(len, wanted.texts))
    if num_characters > limits.max_characters:
        raise TextTooLong(
            f"q has {num_characters} characters, at most {limits.max_characters} are allowed"
        )
