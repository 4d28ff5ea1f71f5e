"""The first letter of a sentence or of a label: networks write small ones where a German sentence
begins with a noun without an article, as in `Lehrer sind willkommen.` and `Kaffee: 2,50 €`."""

from __future__ import annotations

import regex

_WHOLE = regex.compile(r"(?=\d*+\p{Han}|\p{Lu})(?:[^\n]*[.!?…。！？]\Z|[^\n:：]*(?::(?:\s|\Z)|：))")
"""A sentence with its mark, and words before a colon."""
_BEGINNING = regex.compile(r"\d*+\p{Han}|\p{Lu}")
_NAME = regex.compile(r"(?<![\p{L}\p{N}])\p{Ll}{1,3}\p{Lu}")
"""As iPhone, which may begin the translation."""


def with_first_capital(translation: str, source: str, *, ends: bool = True) -> str:
    """The translation of a whole sentence or label, or of its first part if the sentence does not
    end there, with a capital as first letter. Of the translation, which may be only its beginning,
    no more than that letter counts."""
    first = translation[:1].upper()
    begins = _WHOLE.match(source) if ends else _BEGINNING.match(source)
    if len(first) != 1 or not begins or _NAME.search(source):
        return translation
    return first + translation[1:]
