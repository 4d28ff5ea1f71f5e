"""Character references of HTML and XML."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import NamedTuple

import regex

_PARTS = regex.compile(
    r"(?P<space>[ \t\n\f\r]++)"
    r"|&(?:\#[0-9]{1,7}+;?|\#[xX][0-9a-fA-F]{1,6}+;?|[A-Za-z][A-Za-z0-9]{1,31}+;)"
    r"|[^& \t\n\f\r]++(?: [^& \t\n\f\r]++)*+"
    r"|&"
)


class Run(NamedTuple):
    """A part of the source's text. `read` is what it means: the text itself, one character, one
    space, or None for a reference that stands for nothing known."""

    written: str
    read: str | None
    is_space: bool = False


def runs(text: str) -> Iterator[Run]:
    """Cut text between tags at character references and white space; joined, the written parts are
    the text."""
    for match in _PARTS.finditer(text):
        written = match.group()
        if match.lastgroup == "space":
            yield Run(written, " ", is_space=True)
        elif written.startswith("&") and len(written) > 1:
            yield Run(written, _meaning(written))
        else:
            yield Run(written, written)


def _meaning(reference: str) -> str | None:
    """The character, if it is a single one that text may have."""
    read = html.unescape(reference)
    is_usable = len(read) == 1 and read != "\ufffd" and (read.isprintable() or read.isspace())
    return read if is_usable or read in ("\u00ad", "\u200b", "\u200c", "\u200d") else None
