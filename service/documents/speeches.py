"""The speeches of a cue's text: each begins a line, or has a voice of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.inline import joint

LINES = regex.compile(r"(?<!\s)[^\S\n\r]*+[\n\r]\s*+")
SENTENCE_END = regex.compile(r"[.!?。！？…♪][\"'”’»)\]」』]*+(?:</?[\w.]++[^<>]*+>|\s)*+$")
_TAGS = r"\s*+(?:(?:<[^<>]*+>|\{\\[^{}]*+\})\s*+)*+"
_CHEVRONS = r"(?:>|&gt;){2,}+\s*+"
_MARK = regex.compile(rf"{_TAGS}(?:[-–—](?!\d)|{_CHEVRONS}|[♪♫♬\[])")
_NAME = regex.compile(
    rf"{_TAGS}(?:\(|\p{{Han}}{{1,6}}+[:：]"
    r"|\p{Lu}[\p{L}\p{M}.'’]*+(?: [\p{Lu}\p{N}][\p{L}\p{M}.'’]*+){0,2}+(?: \([^()]++\))?+:\s)"
)
_LABEL = regex.compile(
    rf"(?:{_CHEVRONS}|[-–—]\s*+)?+\p{{Lu}}[\p{{Lu}}\p{{M}}\p{{N}} .'’#/()-]{{0,30}}+:\s++"
    rf"(?=[^\n\r]*?[\p{{Ll}}\p{{Lo}}])|{_CHEVRONS}"
)
_VOICE = regex.compile(r"\s*+(?:</v>\s*+)?+<v[ .][^<>\n\r]*+>\s*+")


class Speech(NamedTuple):
    """`before`: what stays before the text, such as a line end, a voice and a name in capitals."""

    before: str
    text: str


def speeches(text: str, line_end: str = "\n") -> Iterator[Speech]:
    """The speeches of a text, each in one line."""
    position, before = 0, ""
    for voice in [*_VOICE.finditer(text), None]:
        lines = LINES.split(text[position : voice.start() if voice else len(text)])
        for number, speech in enumerate(_joined(lines)):
            label = _LABEL.match(speech)
            name = label.group() if label else ""
            yield Speech((line_end if number else before) + name, speech[len(name) :])
        if voice:
            position, before = voice.end(), voice.group()


def begins_speech(text: str) -> bool:
    """Whether a mark or a name says that a speech begins."""
    return bool(_MARK.match(text) or _NAME.match(text))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines of each speech together. A name counts after a sentence, or a line with one."""
    speech = lines[0]
    is_named = bool(_NAME.match(speech))
    for line in lines[1:]:
        may_be_name = is_named or SENTENCE_END.search(speech)
        if _MARK.match(line) or (may_be_name and _NAME.match(line)):
            yield speech
            speech = line
        else:
            speech += joint(speech, line) + line
    yield speech
