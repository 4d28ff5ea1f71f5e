"""Check single values from a file, and show wrong ones in messages."""

from __future__ import annotations

import reprlib
from typing import Any, TypeGuard

_MOST_NAME_CHARACTERS = 200
_MOST_FILE_NAME_BYTES = 255


def is_whole_number(value: object) -> TypeGuard[int]:
    """Whether it is an integer and not a bool, which is an int in Python."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_name(value: object) -> TypeGuard[str]:
    """Whether it is a non-empty printable line of bounded length."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= _MOST_NAME_CHARACTERS
        and value.isprintable()
        and value == value.strip()
    )


def is_file_name(value: object) -> TypeGuard[str]:
    """Whether it is a plain file name: no path, only printable characters."""
    return (
        isinstance(value, str)
        and value not in ("", ".", "..")
        and "/" not in value
        and "\\" not in value
        and value.isprintable()
        and len(value.encode()) <= _MOST_FILE_NAME_BYTES
    )


def shown(value: Any) -> str:
    """A value for a message, shortened if it is long or deep."""
    return _SHORT.repr(value)


class _Short(reprlib.Repr):
    """The standard abbreviations with higher limits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 80
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 20
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to print an integer of thousands of digits."""
        bits = x.bit_length()
        return f"a number of {bits} bits" if bits > 1000 else super().repr_int(x, level)


_SHORT = _Short()
