"""The heads of the entries of Chinese lists, as languages with spaces write them: 1. and (1)."""

from __future__ import annotations

import regex

from service.translation.checks.number_words import chinese_value
from service.translation.language.line_marks import HEAD_OF_ENTRY

_AT_END = regex.compile(rf"(?:{HEAD_OF_ENTRY}|(?P<number>[0-9]{{1,3}})[.．])\s*\Z")


def with_usual_head(gap: str) -> str:
    """What stands before a sentence, with the usual head if it ends with a Chinese one."""
    return _AT_END.sub(_usual, gap)


def _usual(head: regex.Match[str]) -> str:
    numeral = head["number"] or head["in_brackets"]
    value = int(numeral) if numeral.isdecimal() else chinese_value(numeral)
    if value is None:
        return head[0]
    return f"{value}. " if head["number"] else f"({value}) "
