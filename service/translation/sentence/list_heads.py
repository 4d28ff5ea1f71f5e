"""What stands before a sentence, as the target writes it: heads of the entries of Chinese lists as
1. and (1), those of the parts of a law or book as Article 1, those of mails as Re:, and marks such
as a comma, also of a text without words. Behind A. and ① comes a space."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import chinese_value
from service.translation.language.chinese import to_simplified
from service.translation.language.line_marks import CHINESE_MAIL, CHINESE_SPEAKER, HEAD_OF_ENTRY
from service.translation.language.segmentation import is_spaced
from service.translation.language.widths import narrowed
from service.translation.markup.flow import MARK

_AT_END = regex.compile(
    rf"(?:{HEAD_OF_ENTRY}|(?P<number>[0-9０-９]{{1,3}})[.．]"
    r"|(?P<sign>(?<![^\s。，；？！：])[A-H][.．、)）]|[①-⑳]))(?P<space>\s*)\Z"
)
_NARROW = str.maketrans("．、）", "..)")
_MARKS = {"，": ", ", "、": ", ", "；": "; ", "：": ": ", "。": ". "}
"""Chinese marks, and how a language with spaces writes them."""
_WIDE_MARKS = {narrow.strip(): wide for wide, narrow in _MARKS.items() if wide != "、"}
_MARK_AT_END = regex.compile(r"(?<!\w)(?P<mark>[，、；：。]|[,;:](?=\s))(?P<space>\s*)\Z")
_MARK_WITHIN = regex.compile(
    rf"(?<=[\w\p{{So}}\p{{Sk}}\p{{Pe}}\ufe0f%‰°℃{MARK}])(?P<mark>[，、；：。])"
    rf"(?=(?P<space>\s)|[\w\p{{So}}\p{{Ps}}{MARK}]|\Z)"
)
"""Also beside emoji."""
_SIGN = regex.compile(
    r"[！？）］】](?P<is_before>(?=[\p{L}\p{N}]))?|(?P<is_behind>(?<=\S))?｜(?P<is_before>(?=\S))?"
    r"|(?P<is_behind>(?<=[\p{L}\p{N}\p{Pe}！？]))?[（［【]|[０-９Ａ-Ｚａ-ｚ％＋－．／＝～]"
    r"|(?<!—)—(?=—(?!—))|(?<=\S\u3000{0,4})\u3000(?=\u3000{0,4}\S)"
)
"""Of a double dash the first half, which English has not. Of wide spaces those within a line."""
_NARROW_SIGNS = {"—": "", "\u3000": " "}
_MAIL = regex.compile(rf"(?P<colon>[：:]\s*)?(?P<mail>{CHINESE_MAIL})\s*")
_SPEAKER = regex.compile(rf"(?<!\w){CHINESE_SPEAKER}")
_SPEAKERS = dict(zip("问問答甲乙丙丁", "QQAABCD", strict=True))
_IN_NUMBER = regex.compile(r"\d：\d")
_PARTS = {
    "en": {
        "章": "Chapter",
        "节": "Section",
        "条": "Article",
        "编": "Part",
        "部分": "Part",
        "篇": "Part",
        "卷": "Volume",
        "课": "Lesson",
        "讲": "Lecture",
    },
    "de": {
        "章": "Kapitel",
        "节": "Abschnitt",
        "条": "Artikel",
        "编": "Teil",
        "部分": "Teil",
        "篇": "Teil",
        "卷": "Band",
        "课": "Lektion",
        "讲": "Vorlesung",
    },
}


def with_usual_head(gap: str, target: str) -> str:
    """What stands before a sentence of a language that parts words otherwise, with the target's
    usual head or mark at its end, which may end a line. A part of which the target's name is not
    known has its number."""
    marks = _MARKS if is_spaced(target) else _WIDE_MARKS
    gap = _MARK_AT_END.sub(lambda one: _ended(one, marks.get(one["mark"], one[0])), gap)
    if not is_spaced(target):
        return gap
    gap = _MAIL.sub(_usual_mail, gap)
    return _AT_END.sub(lambda head: _ended(head, _usual(head, target)), gap)


def usual_marks(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The offsets of the Chinese signs, of 问, 答 and 甲 before a colon, and of the marks behind a
    number, word or kept string, in text[start:end], and how a language with spaces writes each."""
    for found in _SIGN.finditer(text, start):
        if found.start() >= end:
            break
        sign = found.group()
        before = " " if found["is_behind"] is not None and found.start() > start else ""
        after = " " if found["is_before"] is not None else ""
        yield found.start(), _NARROW_SIGNS.get(sign, f"{before}{narrowed(sign)}{after}")
    for found in _SPEAKER.finditer(text, start, end + 1):
        yield found.start(), _SPEAKERS[found[0][0]]
    for found in _MARK_WITHIN.finditer(text, start, end):
        is_bare = found["space"] or found.end() == len(text)
        is_bare = is_bare or _IN_NUMBER.match(text, found.start() - 1)
        usual = _MARKS[found["mark"]]
        yield found.start(), usual.strip() if is_bare else usual


def _ended(found: regex.Match[str], usual: str) -> str:
    """What is usual, with the end of the line that was found."""
    return usual.rstrip() + found["space"] if "\n" in found["space"] else usual


def _usual_mail(found: regex.Match[str]) -> str:
    usual = "Fwd: " if found["mail"][0] in "转轉" else "Re: "
    return f": {usual}" if found["colon"] else usual


def _usual(head: regex.Match[str], target: str) -> str:
    if head["sign"]:
        return f"{head['sign'].translate(_NARROW)} "
    numeral = head["number"] or head["in_brackets"] or head["of_part"]
    value = int(numeral) if numeral.isdecimal() else chinese_value(numeral)
    if value is None:
        return head[0]
    if head["in_brackets"]:
        return f"({value}) "
    name = _PARTS.get(target, {}).get(to_simplified(head["part"] or ""))
    return f"{name} {value}: " if name else f"{value}. "
