"""What a line has before and after its sentences, such as the mark of a list or the dash of a
speaker: networks copy or double it, and with it the word beside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import regex

NUMERAL = "[一二三四五六七八九十]{1,3}"
_LARGE_NUMERAL = "(?:[一二三四五六七八九十百零〇]{1,7}|[0-9０-９]{1,4})"
HEAD_OF_ENTRY = (
    rf"(?:(?P<number>[0-9０-９]{{1,3}}|{NUMERAL})、|[(（](?P<in_brackets>{NUMERAL})[)）]"
    rf"|第(?P<of_part>{_LARGE_NUMERAL})(?P<part>[章節节條条編编篇卷課课講讲]|部分)(?=\s))"
)
"""Before an entry of a Chinese list, as 1、打开, 一、打开, (一)打开 and 第一章 打开."""
CHINESE_MAIL = "(?:回[复復覆]|答[复復覆]|转发|轉發|轉寄)[：:]"
"""Before the subject of a mail."""
CHINESE_SPEAKER = "[问問答甲乙丙丁][：:]"
"""Before a question, an answer, or what the first of two says."""
_LETTER_OF_SPEAKER = r"[A-Z](?:：\s*+|:\s++)(?=[“「]?\p{Han})"
_ROMAN = "(?:[ivx]{1,5}|[IVX]{1,5})"
_LETTERED = (
    rf"(?:(?:[(（](?:[A-Za-z]|{_ROMAN})[)）]|(?:[A-Za-z]|{_ROMAN})[)）]|(?:[a-h]|{_ROMAN})\.)"
    r"\s++(?!(?:and|or|to|und|oder|bis|Chr)\b)(?=[\"“„‘«]?(?:\p{L}{2}|\p{Han}))"
    r"|[A-HIVX]\.\s++(?=[\"“„‘«]?(?:\p{Lu}\p{L}|\p{Han}))|[A-H][.．、)）]\s*+(?=\d{0,6}\p{Han})"
    r"|[QA]:\s++(?=[\"“„‘«]?\p{L}{2}))"
)
"""a. or (iii) before an entry, and Q: or A: before a question; not E. coli."""
_CIRCLED = "①-⑳"
_MAIL = rf"(?:(?:R[eE]|A[wW]|F[wW]d?|FWD|WG):(?=\s)|{CHINESE_MAIL})"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_DAY = r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}"
_STAMP = rf"(?:\[(?:{_DAY},?\s)?{_CLOCK}\](?=\s)|(?:{_DAY},?\s)?{_CLOCK}\s[-–—](?=\s[^\W\d]))"
"""Before the author of a message: [12.05.24, 14:32:10], [9:41 AM] or 12/05/24, 2:32 PM -."""
_ENTRY = rf"{HEAD_OF_ENTRY}(?!\s*(?:\d|{NUMERAL}|[）)]))(?=\s*\w)"
_BULLET = "•·・‣◦▪■◆●○►▶▸★☆✓✔✗✘☐☑☒"
_NOTES = "♩♪♫♬"
"""Of music, around the line of a song."""
_BEFORE_MAIL = rf"(?!{_MAIL})\w{{2,20}}(?P<colon>[:：]\s*)(?={_MAIL})"
"""Subject: Re: of a mail."""
_HEAD = regex.compile(
    rf"""\s*+(?: (?: [{_BULLET}{_NOTES}] |[*+~](?=\s|\p{{L}}{{2}})
    | [-–—]+(?=\s|\p{{Lu}}\p{{Ll}}|\p{{Han}})
    | {_ENTRY} | {_LETTERED} | [{_CIRCLED}] | {_MAIL} | {_STAMP}
    | {CHINESE_SPEAKER}(?=\s*[“「"]?\w) | {_LETTER_OF_SPEAKER} | [,;](?=\s) | [，、；：。]
    | (?: \*{{2,}} | !{{2,}} | /(?:/+!?|\*+) | =+ | \#+ | [»→] )(?=\s)
    | >+(?=\s|\p{{L}}{{2}}) | «(?=\s[^»]*+$)
    ) \s*+ )++""",
    regex.X,
)
_TAIL = regex.compile(
    rf"(?<![\s{_NOTES}])\s*+[{_NOTES}]++\s*+$"
    r"|(?<!\s)\s++(?:[-=*~#_+–—]{2,}+|>{2,}+|\*+/|[»→«►▶])\s*+$|(?<=\p{L})(?:[-=]{3,}|[~～])++\s*+$|-(?<=\b(?:\d|\p{Lu}\p{Ll}?\d?)-)\s*+$"
)
"""Signs behind a sentence, as in 谢谢～, and that of a mark or an ion: 2- and Cl-."""
_FEW_WORDS = r"(?=[^{0}]*\p{{L}}{{2}})[^{0}\s]++(?: [^{0}\s]++)?"
_WITHIN = regex.compile(
    rf"\[(?=[^\[\]()]*\p{{L}}{{2}})[^\[\]()]++\]|【[^【】]++】|［[^［］]++］|\({_FEW_WORDS.format('()')}\)"
    rf'|"{_FEW_WORDS.format(chr(34))}"'
)
_ASIDES = regex.compile(
    rf"(?:(?P<aside>\s*+[\[(](?!{_ROMAN}[)\]])"
    r"\p{Latin}[\p{Latin}\p{M}\s,'’-]{1,60}+[\])]:?\s++)"
    r"(?=[\p{Lu}\p{Han}“„\"\[(])"
    rf"|(?P<aside>\s*+(?:[【［][^【】［］]{{1,20}}+[】］]|[\[(（](?!{NUMERAL}[\])）])\p{{Han}}{{1,8}}+[\])）])\s*+)"
    r"(?=[\p{L}\p{N}【［“「]))++"
)
"""[laughs], 【通知】 or （笑） before a sentence."""
_SIGNATURE = regex.compile(r"(?<=[^【】［］\s])\s*+[【［][^【】［］]{2,20}+[】］]\s*+\Z")
"""【京东】 behind a message."""
_IN_WORD = r"[\p{L}\p{M}\p{N}'’&-]{0,30}+"
_NAME = rf"(?:\p{{Han}}|\p{{L}}{{2}}){_IN_WORD}(?: [\p{{L}}\p{{N}}&]{_IN_WORD}){{0,3}}+"
_BETWEEN = r"(?:\s[»›>→⇒·•/]\s|[»›→⇒＞]|(?<=\p{Han})[>|｜;](?=\p{Han})|(?<=\p{L}{2});(?=\p{L}{2}))"
_TRAIL = regex.compile(rf"\s*+(?P<name>{_NAME})(?:{_BETWEEN}(?P<name>{_NAME}))++\s*+")
"""The way to a page, as in Home > Products > Tea, and entries that a sign joins."""
_SIGN = regex.compile(rf"[{_BULLET}{_NOTES}{_CIRCLED}»«›→⇒·>|]|[~～]++")
_MEASURED = regex.compile(
    r"\s*+\p{L}[\p{L}\s-]{1,40}?(?P<measure>(?:[,，]\s?|\s[-–—]\s|\s?[(（])\d{1,4}\s?\ufffc[)）]?)\s*+"
)
"""Sugar, 1 kg: of a list, where networks copy the word. The unit is a kept string."""
_SUBJECT = re.compile(rf"\s*{_BEFORE_MAIL}")
_SPEAKER = "[一-鿿]{1,8}[：:]"
_SPOKEN = regex.compile(
    rf"\s*+(?!{CHINESE_SPEAKER}){_SPEAKER}\s*+(?!是?指|系指|谓|謂)(?=(?:\p{{Han}}|\d{{1,4}}\s?\p{{Han}})[^\n]*[。！？!?…]\s*\Z)"
)
"""Before what someone says: networks lose 汤姆：, and mix 病人： with the sentence. Definitions, as
农产品：指…, are better whole."""
_PARTING = re.compile(r"[\[(（【［»›>→⇒·•/＞|｜;]")
_BARE = re.compile(
    rf"(?!{_ENTRY}|[A-Za-z]{{1,5}}[.．、)）]|[A-Z][:：]|{_MAIL}|{_BEFORE_MAIL}|{_STAMP}|{_SPEAKER}|[{_CIRCLED}])\w(?:[^»›>→⇒·•/＞;|｜]*[\w.!?…,:%)\"'”’])?"
)
_ITEM = regex.compile(
    rf"(?:(?<=[\s\p{{Han}}\p{{P}}])|^)(?:(?P<number>[{_CIRCLED}])|(?P<open>[(（])?"
    rf"(?:(?P<roman>i{{1,3}}|iv|vi{{0,3}})|(?P<letter>[A-Ha-h])"
    r"|(?<!\b(?:and|or|to|und|oder|bis)\s)(?P<number>\d{1,2}))"
    r"(?P<close>(?(open)[)）]|[.．、)）])))(?!\s*+(?:and|or|to|und|oder|bis|[和或与至、,，-]"
    r"|(?(letter)\d(?!\d{0,5}\p{Han})|\d))|\s*+\Z)"
)
"""The head of an entry of a row, as in A. Yes B. No."""
_IN_LABEL = r"(?:[（(][^（）()\s]{1,10}[）)])?[：:]"
_FIELD_LABEL = rf"[一-鿿]{{1,8}}(?<![说說道问問答曰])(?<!失败){_IN_LABEL}"
_SECOND_ITEM = re.compile(
    rf"(?<![A-Za-z0-9])(?:ii|[Bb2])[.．、)）]|②|\s(?:[A-Z][：:]|[一-鿿]{{1,8}}{_IN_LABEL})"
)
"""Every row has it: one cheap look."""
_FIRST_FIELD = regex.compile(
    rf"\s*+(?:[【［][^【】［］]{{1,20}}[】］])?(?:{_FIELD_LABEL}|{_LETTER_OF_SPEAKER})"
)
_SECOND_FIELD = regex.compile(
    rf"(?<=[^\s，,、；;：:（(])\s++(?={_FIELD_LABEL}\s*+\S|{_LETTER_OF_SPEAKER})"
    rf"|(?<=\p{{Han}})\s++(?={_FIELD_LABEL})"
)
"""What stands before a field of a row, as in 型号：M365 颜色：黑色, or A：好 B：不好."""
_SPACED_WORD = regex.compile(r"\p{Han}[“\"]?\s[^\p{Han}\s]|[^\p{Han}\s：:]\s\p{Han}")
"""In 读取 "CSV" 文件：, spaces are beside the words of another script, and part no fields."""
_BEFORE_ITEMS = regex.compile(r"[.!?:。！？：]\s*+\Z")
_ROMANS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii")
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
    is_sure = _BARE.fullmatch(text) is not None and _SECOND_ITEM.search(text) is None
    return is_sure or (bare(text) == (0, len(text)) and len([*parts(text)]) == 1)


def line_sign(kept: str) -> str | None:
    """The character that a kept string is for `bare` and `parts`; None if it is of a sentence."""
    if kept in _BOXES:
        return "☐"
    return kept[0] if _SIGN.fullmatch(kept) else None


def parts(line: str) -> Iterator[str]:
    """The pages of a way to a page and the signs between them, the entries or fields of a row, an
    article and how much of it, or what stands in brackets before or behind a sentence, before the
    subject of a mail or before what someone says, and the sentence. Joined they are the line."""
    fields = [*_fields(line)] if _SECOND_ITEM.search(line) else []
    for start, end in itertools.pairwise([0, *fields, len(line)]):
        yield from _parts(line[start:end])


def _fields(line: str) -> Iterator[int]:
    """Where the fields behind the first one begin, if the first is one or several follow."""
    found = [*_SECOND_FIELD.finditer(line)]
    if len(found) == 1 and not _FIRST_FIELD.match(line):
        return
    start = 0
    for space in found:
        if not _SPACED_WORD.search(line, start, space.start()):
            yield space.end()
            start = space.end()


def _parts(field: str) -> Iterator[str]:
    position = 0
    for cut in [*_cuts(field), len(field)]:
        if cut > position:
            yield field[position:cut]
            position = cut


def _cuts(line: str) -> list[int]:
    if _SECOND_ITEM.search(line) and (items := _items(line)):
        return items
    if before_mail := _SUBJECT.match(line):
        return [*before_mail.span("colon")]
    if spoken := _SPOKEN.match(line):
        return [spoken.end()]
    if "\ufffc" in line and (measured := _MEASURED.fullmatch(line)):
        return [measured.start("measure")]
    if _PARTING.search(line) is None:
        return []
    if trail := _TRAIL.fullmatch(line):
        return [place for span in trail.spans("name") for place in span]
    asides = _ASIDES.match(line)
    cuts = asides.ends("aside") if asides else []
    signature = _SIGNATURE.search(line, cuts[-1] if cuts else 0)
    return [*cuts, signature.start()] if signature else cuts


def _items(line: str) -> list[int]:
    """Where the entries of a row begin, as in A. Yes B. No, which has two at least."""
    found: list[regex.Match[str]] = []
    for item in _ITEM.finditer(line):
        if found:
            is_next = _style(item) == _style(found[0]) and _value(item) == len(found) + 1
        else:
            before = line[max(0, item.start() - 3) : item.start()]
            is_next = _value(item) == 1 and (not before or bool(_BEFORE_ITEMS.search(before)))
        if is_next:
            found.append(item)
    return [item.start() for item in found] if len(found) > 1 else []


def _style(item: regex.Match[str]) -> tuple[object, ...]:
    kinds = (item["roman"] is None, item["letter"] is None, (item["letter"] or "").isupper())
    return (*kinds, item["open"], item["close"])


def _value(item: regex.Match[str]) -> int:
    """Which of a row an entry is by its sign."""
    if item["roman"]:
        return _ROMANS.index(item["roman"]) + 1
    if item["letter"]:
        return ord(item["letter"].lower()) - ord("a") + 1
    number = item["number"]
    return int(number) if number.isdecimal() else ord(number) - ord(_CIRCLED[0]) + 1
