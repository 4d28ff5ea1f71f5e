"""The speeches of a cue's text: each begins a line, or has a voice of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from service.documents.inline import joint

LINES = regex.compile(r"(?<!\s)[^\S\n\r]*+[\n\r]\s*+")
SENTENCE_END = regex.compile(
    r"[.!?。！？…♪][\"'”’»)\]」』]*+(?:</?[\w.]++[^<>]*+>|\{\\[^{}]*+\}|\s)*+$"
)
_TAGS = r"\s*+(?:(?:<[^<>]*+>|\{\\[^{}]*+\})\s*+)*+"
_CHEVRONS = r"(?:>|&gt;){2,}+\s*+"
_MARK = regex.compile(rf"{_TAGS}(?:[-–—](?!\d)|{_CHEVRONS}|[♪♫♬\[【［]|#\s)")
_BRACKETED = regex.compile(
    rf"{_TAGS}(?:\([^()]*+\)|\[[^\[\]]*+\]|（[^（）]*+）|【[^【】]*+】|［[^［］]*+］){_TAGS}"
)
_BROKEN_OFF = regex.compile(r"(?:--|[–—])\s*+$")
_STYLED = regex.compile(
    r"(?:\{\\[^{}ibu][^{}]*+\}|\s)*+(?:(?P<style><(?P<tag>\w++)[^<>]*+>)[^<>]*+</(?P=tag)>"
    r"|(?P<style>\{\\(?P<tag>[ibu])1\})[^{}]*+\{\\(?P=tag)0\})\s*+"
)
"""A text that is in italics, a colour and the like as a whole."""
_CAPITAL = regex.compile(rf"{_TAGS}[\"'“‘]?+\p{{Lu}}")
_NAME = regex.compile(
    rf"{_TAGS}(?:[(（]|\p{{Han}}{{1,6}}+[:：]"
    r"|\p{Lu}[\p{L}\p{M}.'’]*+(?: [\p{Lu}\p{N}][\p{L}\p{M}.'’]*+){0,2}+(?: \([^()]++\))?+:\s)"
)
_LABEL = regex.compile(
    rf"(?:{_CHEVRONS}|[-–—]\s*+)?+\p{{Lu}}[\p{{Lu}}\p{{M}}\p{{N}} .'’#/()-]{{0,30}}+:\s++"
    rf"(?=[^\n\r]*?[\p{{Ll}}\p{{Lo}}])|{_CHEVRONS}"
)
_VOICE = regex.compile(r"\s*+(?:</v>\s*+)?+<v[ .][^<>\n\r]*+>\s*+")


class Speech(NamedTuple):
    """`before`: what stays before the text, such as a line end, a voice and a name in capitals.
    `text`: of so many lines."""

    before: str
    text: str
    num_lines: int


def speeches(text: str, line_end: str = "\n", *, keeps_lines: bool = False) -> Iterator[Speech]:
    """The speeches of a text, each in one line. `keeps_lines`: so is what follows a line that ends
    with a sentence."""
    position, before = 0, ""
    for voice in [*_VOICE.finditer(text), None]:
        lines = LINES.split(text[position : voice.start() if voice else len(text)])
        for number, (speech, num_lines) in enumerate(_joined(lines, keeps_lines)):
            label = _LABEL.match(speech)
            name = label.group() if label else ""
            yield Speech((line_end if number else before) + name, speech[len(name) :], num_lines)
        if voice:
            position, before = voice.end(), voice.group()


def begins_speech(text: str) -> bool:
    """Whether a mark or a name says that a speech begins."""
    return bool(_MARK.match(text) or _NAME.match(text))


def is_over(text: str, following: str) -> bool:
    """Whether a sentence ends before the text that follows, is broken off there, is a sound, or is
    in another style, as songs and signs are."""
    if SENTENCE_END.search(text) or _BRACKETED.fullmatch(text):
        return True
    is_other = _BROKEN_OFF.search(text) is not None or _style(text) != _style(following)
    return is_other and _CAPITAL.match(following) is not None


def _style(text: str) -> str | None:
    """The tag of the style that a text has as a whole."""
    found = _STYLED.fullmatch(text)
    return found["style"] if found else None


def _joined(lines: Sequence[str], keeps_lines: bool) -> Iterator[tuple[str, int]]:
    """The lines of each speech together, and their number. A name counts after a sentence, or a
    line with one."""
    speech, num_lines = lines[0], 1
    is_named = bool(_NAME.match(speech))
    for line in lines[1:]:
        is_sentence = SENTENCE_END.search(speech) is not None
        is_broken_off = not is_sentence and is_over(speech, line)
        begins = _MARK.match(line) or ((is_named or is_sentence) and _NAME.match(line))
        if begins or is_broken_off or (keeps_lines and is_sentence):
            yield speech, num_lines
            speech, num_lines = line, 1
        else:
            speech, num_lines = speech + joint(speech, line) + line, num_lines + 1
    yield speech, num_lines
