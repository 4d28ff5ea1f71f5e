"""The names of languages."""

from __future__ import annotations

import functools

from babel import Locale, UnknownLocaleError


@functools.lru_cache(4096)
def language_name(code: str, display_code: str = "en") -> str:
    """The language's name in another language, or the code if Babel has no name."""
    try:
        return Locale.parse(code, sep="-").get_display_name(display_code.replace("-", "_")) or code
    except (UnknownLocaleError, ValueError):
        return code
