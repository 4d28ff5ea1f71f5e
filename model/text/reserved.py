"""The spelling of reserved pieces: numbered placeholders and inline tags.

A vocabulary that has them never splits one. Whoever prepares a text for such a model puts them in
place of what must be kept, and finds the same ones in the translation. Text hardly ever has these
brackets (U+27E6 and U+27E7).
"""

from __future__ import annotations

MAX_RESERVED = 256
"""Of a kind."""


def placeholder(number: int) -> str:
    """Stands for a string that is not translated."""
    return f"⟦{number}⟧"


def opening_tag(number: int) -> str:
    """Begins the span of an inline tag."""
    return f"⟦<{number}>⟧"


def closing_tag(number: int) -> str:
    """Ends the span that the opening tag of the same number begins."""
    return f"⟦</{number}>⟧"


def empty_tag(number: int) -> str:
    """An inline tag without a span, such as a line break."""
    return f"⟦<{number}/>⟧"


def reserved_pieces(count: int) -> list[str]:
    """All placeholders and tags numbered below `count`."""
    kinds = (placeholder, opening_tag, closing_tag, empty_tag)
    return [spell(number) for spell in kinds for number in range(count)]
