"""The spelling of reserved pieces: numbered placeholders and inline tags.

A vocabulary with reserved pieces never splits them. Callers replace protected strings with these
pieces before translation and find them again in the output. The brackets (U+27E6 and U+27E7) are
rare in text.
"""

from __future__ import annotations

BRACKET = "⟦"
"""What every reserved piece begins with."""
MAX_RESERVED = 256
"""The limit per kind."""


def placeholder(number: int) -> str:
    """The piece for a string that is not translated."""
    return f"⟦{number}⟧"


def opening_tag(number: int) -> str:
    """The piece that opens an inline tag's span."""
    return f"⟦<{number}>⟧"


def closing_tag(number: int) -> str:
    """The piece that closes the span of the opening tag with the same number."""
    return f"⟦</{number}>⟧"


def empty_tag(number: int) -> str:
    """An inline tag without a span, such as a line break."""
    return f"⟦<{number}/>⟧"


def reserved_pieces(count: int) -> list[str]:
    """All placeholders and tags numbered below `count`."""
    kinds = (placeholder, opening_tag, closing_tag, empty_tag)
    return [spell(number) for spell in kinds for number in range(count)]
