"""ICU messages: a plural or choice within a sentence becomes one of whole sentences, which can be
translated."""

from __future__ import annotations

import regex

_CHOICE = regex.compile(
    r"\{\s*+\w++\s*+,\s*+(?:plural|select)\s*+,(?:\s*+offset:\d++)?"
    r"(?P<variants>(?:\s*+(?:=\d++|\w++)\s*+\{(?:[^{}]++|\{[^{}]*+\})*+\}){1,12}+)\s*+\}"
)
_VARIANT = regex.compile(r"\{((?:[^{}]++|\{[^{}]*+\})*+)\}")
_OTHERS = regex.compile(r",\s*+(?:plural|select|selectordinal)\s*+,")
_NOT_MOVED = regex.compile(r"#|'[{}]")
"""The number of the plural around, and quoted braces."""


def with_whole_sentences(text: str) -> str:
    """`{n, plural, one{a day} other{# days}} left` as
    `{n, plural, one{a day left} other{# days left}}`. A text with several choices stays."""
    choice = _CHOICE.search(text)
    if choice is None or len(_OTHERS.findall(text)) > 1:
        return text
    before, after = text[: choice.start()], text[choice.end() :]
    if not (before + after).strip() or _NOT_MOVED.search(before + after):
        return text
    start, end = choice.span("variants")
    variants = _VARIANT.sub(lambda one: f"{{{before}{one[1]}{after}}}", text[start:end])
    return text[choice.start() : start] + variants + text[end : choice.end()]
