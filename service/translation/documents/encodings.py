"""Read the bytes of text files: UTF-8, and UTF-16 with a byte order mark."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable
from typing import NamedTuple

from service.errors import InvalidDocument

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DecodedText(NamedTuple):
    """A file's text without its byte order mark. `encode` spells a text as the file was."""

    text: str
    encode: Callable[[str], bytes]


def decode(content: bytes) -> DecodedText:
    """Raises InvalidDocument for other encodings."""
    mark, encoding = next((m for m in _MARKS if content.startswith(m[0])), (b"", "utf-8"))
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            f"the file is not {encoding.upper()}: byte {error.start + len(mark)} is wrong; "
            "allowed are UTF-8, and UTF-16 with a byte order mark"
        ) from None
    if "\0" in text:
        raise InvalidDocument("the file is not a text: it has a zero byte")
    return DecodedText(text, functools.partial(_encode, mark, encoding))


def _encode(mark: bytes, encoding: str, text: str) -> bytes:
    return mark + text.encode(encoding)
