"""Messages of Java's MessageFormat: quoted braces are no arguments, and apostrophes are doubled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import regex

from service.documents.icu_messages import with_whole_sentences
from service.documents.inline import InlineText
from service.documents.segments import Segment

_ARGUMENT = regex.compile(r"\{\d")
_BRACE = r"'(?:\{'[^'{}\s]{1,80}+'\}|[{}])'"
_QUOTED = regex.compile(rf"(?<!')(?:(?P<brace>{_BRACE})|'\{{[^'{{}}\n]{{0,80}}+\}}')(?!')")
"""`'{'name'}'`, or `'{name}'`, which may be quoted for a reader only."""
_APOSTROPHE = regex.compile(rf"{_BRACE}(*SKIP)(*FAIL)|'")


def message_segment(value: str) -> tuple[Segment, Callable[[Any], str]]:
    """What is translated of a value, which may be a message, and how its translation is written."""
    quoted = list(_QUOTED.finditer(value))
    has_argument = bool(_ARGUMENT.search(value)) and ("''" in value or "'" not in value)
    is_message = has_argument or any(one["brace"] for one in quoted)
    read, spell = (_read, _spelled) if is_message else (str, str)
    if all(one["brace"] for one in quoted):
        return Segment(with_whole_sentences(read(value))), spell
    inline, position = InlineText(spell), 0
    for one in quoted:
        inline.add(read(value[position : one.start()]))
        inline.word(one.group())
        position = one.end()
    inline.add(read(value[position:]))
    return Segment(inline.text), inline.write


def _read(message: str) -> str:
    return message.replace("''", "'")


def _spelled(text: str) -> str:
    return _APOSTROPHE.sub("''", text)
