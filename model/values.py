"""Checks of single values that a file holds, and how a wrong one is shown in a message."""

from __future__ import annotations

import reprlib
from typing import Any, TypeGuard

_MOST_NAME_CHARACTERS = 200
_MOST_FILE_NAME_BYTES = 255


def is_whole_number(value: object) -> TypeGuard[int]:
    """True and false are no numbers, although Python counts them as such."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_name(value: object) -> TypeGuard[str]:
    """A printable text of one line that is neither empty nor endless."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= _MOST_NAME_CHARACTERS
        and value.isprintable()
        and value == value.strip()
    )


def is_file_name(value: object) -> TypeGuard[str]:
    """The name of a file in a directory: no path, and nothing that a terminal would not show."""
    return (
        isinstance(value, str)
        and value not in ("", ".", "..")
        and "/" not in value
        and "\\" not in value
        and value.isprintable()
        and len(value.encode()) <= _MOST_FILE_NAME_BYTES
    )


def shown(value: Any) -> str:
    """A value in a message, cut where it is long or deep."""
    return _SHORT.repr(value)


class _Short(reprlib.Repr):
    """The standard abbreviations, with room for what people write."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 80
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 20
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to write an integer of thousands of digits."""
        bits = x.bit_length()
        return f"a number of {bits} bits" if bits > 1000 else super().repr_int(x, level)


_SHORT = _Short()
