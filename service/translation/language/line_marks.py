"""What a line has before and after its sentences, such as the mark of a list or the dash of a
speaker: networks copy or double it, and with it the word beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

NUMERAL = "[一二三四五六七八九十]{1,3}"
_LARGE_NUMERAL = "(?:[一二三四五六七八九十百零〇]{1,7}|[0-9]{1,4})"
HEAD_OF_ENTRY = (
    rf"(?:(?P<number>[0-9]{{1,3}}|{NUMERAL})、|[(（](?P<in_brackets>{NUMERAL})[)）]"
    rf"|第(?P<of_part>{_LARGE_NUMERAL})(?P<part>[章節节條条編编篇卷課课講讲]|部分)\s)"
)
"""Before an entry of a Chinese list, as 1、打开, 一、打开, (一)打开 and 第一章 打开."""
_ENTRY = rf"{HEAD_OF_ENTRY}(?!\s*(?:\d|{NUMERAL}|[）)]))(?=\s*\w)"
_BULLET = "•‣◦▪■◆●○►▶▸★☆✓✔✗✘☐☑☒"
_HEAD = regex.compile(
    rf"""\s*+(?: (?: [{_BULLET}] |[*+~](?=\s|\p{{L}}{{2}}) | [-–—]+(?=\s|\p{{Lu}}\p{{Ll}}|\p{{Han}})
    | {_ENTRY}
    | [,;](?=\s) | [，、；：。]
    | (?: \*{{2,}} | !{{2,}} | =+ | \#+ | >+ | [»→] )(?=\s) | «(?=\s[^»]*+$) ) \s*+ )++""",
    regex.X,
)
_TAIL = regex.compile(r"(?<!\s)\s++(?:[-=*~#_+–—]{2,}+|>{2,}+|[»→«►▶])\s*+$")
_FEW_WORDS = r"(?=[^{0}]*\p{{L}}{{2}})[^{0}\s]++(?: [^{0}\s]++)?"
_WITHIN = regex.compile(
    rf"\[(?=[^\[\]()]*\p{{L}}{{2}})[^\[\]()]++\]|【[^【】]++】|［[^［］]++］|\({_FEW_WORDS.format('()')}\)"
    rf'|"{_FEW_WORDS.format(chr(34))}"'
)
_ASIDE = regex.compile(
    r"\s*+[\[(]\p{Latin}[\p{Latin}\p{M}\s,'’-]{1,60}+[\])]:?\s++(?=[\p{Lu}\p{Han}“„\"])"
    r"|\s*+[【［][^【】［］]{1,20}+[】］]\s*+(?=[\p{L}\p{N}])"
)
"""[laughs] or 【通知】 before a sentence."""
_IN_WORD = r"[\p{L}\p{M}\p{N}'’&-]{0,30}+"
_NAME = rf"(?:\p{{Han}}|\p{{L}}{{2}}){_IN_WORD}(?: [\p{{L}}\p{{N}}&]{_IN_WORD}){{0,3}}+"
_TRAIL = regex.compile(
    rf"\s*+(?P<name>{_NAME})(?:(?:\s[»›>→⇒·•/]\s|[»›→⇒＞])(?P<name>{_NAME}))++\s*+"
)
"""The way to a page, as in Home > Products > Tea."""
_SIGN = regex.compile(rf"[{_BULLET}»«›→⇒·>]")
_PARTING = re.compile(r"[\[(【［»›>→⇒·•/＞]")
_BARE = re.compile(rf"(?!{_ENTRY})\w(?:[^»›>→⇒·•/＞]*[\w.!?…,;:%)\"'”’])?")
_BOXES = frozenset({"[ ]", "[x]", "[X]"})


def bare(text: str) -> tuple[int, int]:
    """Where the sentence of a text is that has such marks around it."""
    start, end = _stripped(text, 0, len(text))
    if _BARE.fullmatch(text, start, end):
        return start, end
    if head := _HEAD.match(text, start):
        start = head.end()
    tail = _TAIL.search(text, start)
    if tail and not ("»" in tail.group() and "«" in text):
        end = tail.start()
    start, end = _stripped(text, start, end)
    if _WITHIN.fullmatch(text, start, end):
        return _stripped(text, start + 1, end - 1)
    return start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    body = text[start:end].strip()
    start = text.index(body, start)
    return start, start + len(body)


def is_bare(text: str) -> bool:
    """Whether a text without spaces at its ends has no such marks. One cheap look answers for
    most."""
    is_sure = _BARE.fullmatch(text) is not None
    return is_sure or (bare(text) == (0, len(text)) and len([*parts(text)]) == 1)


def line_sign(kept: str) -> str | None:
    """The character that a kept string is for `bare` and `parts`; None if it is of a sentence."""
    if kept in _BOXES:
        return "☐"
    return kept if _SIGN.fullmatch(kept) else None


def parts(line: str) -> Iterator[str]:
    """The pages of a way to a page and the signs between them, or what stands in brackets before
    a sentence, and the sentence. Joined they are the line."""
    cuts = []
    if _PARTING.search(line) is None:
        pass
    elif trail := _TRAIL.fullmatch(line):
        cuts = [place for span in trail.spans("name") for place in span]
    elif aside := _ASIDE.match(line):
        cuts = [aside.end()]
    position = 0
    for cut in [*cuts, len(line)]:
        if cut > position:
            yield line[position:cut]
            position = cut
