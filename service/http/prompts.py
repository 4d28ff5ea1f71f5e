"""Prompts for language models that ask for a translation: the instruction, and the text.

Clients of language models put the instruction before the text, often in the same message:
"Translate the following text to German:" and the text, or `Translate "Good morning." into German`.
The text may stand between fences or quotation marks, or behind a label.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from service.http.language_names import language_name

_MOST_ASKED = 4096
"""Characters of an instruction that are searched for languages."""
_MOST_BEFORE, _MOST_ENDS = 600, 16
"""Characters before a text in the same message, and places where the text may begin."""
_TRANSLATES = re.compile(r"translat|übersetz|译", re.I)
_THE = r"\W{0,3}(?:(?:the|simplified|简体)\W{0,3})?$"
_FROM = re.compile(rf"(?:\bfrom|\baus(?:\W+dem)?|从|由){_THE}", re.I)
_TO = re.compile(rf"(?:\b(?:in)?to|\bins?|[成为到至]){_THE}", re.I)
_MOST_WORDS_BEFORE = 24
"""Characters before a language's name that say whether it is the source or the target."""
_LETTER = r"[A-Za-zÀ-ɏ]"
_WORD = re.compile(rf"{_LETTER}+(?:-{_LETTER}+)*")
_CHINESE_END = re.compile("[语文]")
_CODE = re.compile(
    r"\b(?P<source>from)?(?(source)|(?:in)?to)\W{1,3}(?:(?:the|simplified)\W{1,3})?(?P<name>[\w-]+)",
    re.I,
)
_QUOTED = re.compile(r'\s*translate\s+["“](?P<text>.+)["”]\s+(?P<asks>[^"“”]{1,200})', re.I | re.S)
_FENCED = re.compile(r"(?P<fence>\"{3}|`{3}|'{3})(?P<text>.+?)(?P=fence)", re.S)
_LABEL = re.compile(r"(?:^|\n)(?:source )?text *[:：]", re.I)
_NEXT_LABEL = re.compile(r"\s*translat(?:ed text|ion)\s*[:：]\s*", re.I)
_QUOTES = ('""', "“”", "「」")


class NamedLanguages(NamedTuple):
    """What an instruction names; `source` None: nothing. The target may be unknown."""

    source: str | None
    target: str


class Prompt(NamedTuple):
    languages: NamedLanguages
    text: str


def read_prompt(message: str, codes: Sequence[str]) -> Prompt | None:
    """The text and the languages of a message that asks for its translation; None: it does not.
    `codes`: of the known languages."""
    quoted = _QUOTED.fullmatch(message)
    if quoted and (languages := read_instruction("translate " + quoted["asks"], codes)):
        return Prompt(languages, quoted["text"])
    ends = re.finditer(r"[:：\n]", message[:_MOST_BEFORE])
    for end in itertools.islice(ends, _MOST_ENDS):
        if languages := read_instruction(message[: end.start()], codes):
            text = _unwrapped(message[end.end() :])
            return Prompt(languages, text) if text else None
    return None


def read_instruction(asked: str, codes: Sequence[str]) -> NamedLanguages | None:
    """The languages that an instruction names, by their English, German or Chinese names, or by
    codes; None: it asks for no translation into a language."""
    asked = asked[:_MOST_ASKED]
    if not _TRANSLATES.search(asked):
        return None
    names = _names(tuple(codes))
    sources, targets, others = list[str](), list[str](), list[str]()
    for begin, name in _mentions(asked, names):
        before = asked[max(0, begin - _MOST_WORDS_BEFORE) : begin]
        found = sources if _FROM.search(before) else targets if _TO.search(before) else others
        found.append(names[name])
    coded = [(one["source"], one["name"]) for one in _CODE.finditer(asked)]
    known = {code.lower(): code for code in codes}
    sources += [known[name.lower()] for is_source, name in coded if is_source and name in known]
    targets += others[::-1]
    targets += [known.get(name.lower(), name) for is_source, name in coded if not is_source]
    return NamedLanguages(next(iter(sources), None), targets[0]) if targets else None


def _mentions(asked: str, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Where a language's name begins, and the name; in order for each script."""
    words = [(one.start(), one[0].lower()) for one in _WORD.finditer(asked)]
    for (begin, word), (_, after) in itertools.pairwise([*words, (len(asked), "")]):
        for name in (f"{word} {after}", word):
            if name in names:
                yield begin, name
                break
    for one in _CHINESE_END.finditer(asked):
        for begin in range(max(0, one.end() - 6), one.start()):
            if asked[begin : one.end()] in names:
                yield begin, asked[begin : one.end()]
                break


@functools.lru_cache(8)
def _names(codes: tuple[str, ...]) -> Mapping[str, str]:
    """The code of each name in small letters; of several with a name, the shortest."""
    by_length = sorted(codes, key=len, reverse=True)
    return {name.lower(): code for code in by_length for name in _names_of(code)}


def _names_of(code: str) -> Iterator[str]:
    """In English, German and Chinese; what stands in brackets, such as the script, before it or
    left out."""
    english, german, chinese = (
        language_name(code, display).rstrip(")").partition(" (") for display in ("en", "de", "zh")
    )
    if english[0] == code:
        return
    yield from (english[0], german[0], f"{german[0]}e")
    yield from (chinese[0], chinese[0].replace("语", "文"))
    if english[2]:
        yield from (f"{english[2]} {english[0]}", f"{german[2]} {german[0]}")
        yield f"{chinese[2]}{chinese[0]}"


def _unwrapped(text: str) -> str:
    """A text without its fences, label or quotation marks."""
    if fenced := _FENCED.search(text):
        return fenced["text"].strip()
    if label := _LABEL.search(text):
        text, _, last = text[label.end() :].strip().rpartition("\n")
        if not _NEXT_LABEL.fullmatch(last):
            text = f"{text}\n{last}"
    text = text.strip()
    is_quoted = len(text) > 2 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]
    return text[1:-1] if is_quoted else text
