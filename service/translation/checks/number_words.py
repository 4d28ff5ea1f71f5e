"""Numbers in words: English, German, French and Chinese.

A word gives the values that it may stand for. Whether it must be translated as a number is another
matter: `a`, `second` and `十分` need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex
from babel.dates import get_month_names
from num2words import num2words

_MONTH_LOCALES = ("en", "de", "de_AT", "fr")
_SINGLE_WORDS = {
    "en": (*range(21), *range(30, 100, 10)),
    "de": range(100),
    "fr": (*range(17), *range(20, 70, 10)),
    "fr_CH": range(70, 100, 10),
}
"""Numbers below a hundred that are one word; of others each word is a number."""
_GERMAN_ENDINGS = ("n", "r", "s", "m", "ns")
_OTHER_WORDS = {
    **dict.fromkeys(("a", "an", "ein", "eine", "einen", "einer", "einem", "eines", "une"), 1),
    **dict.fromkeys(("once", "einmal", "première"), 1),
    **dict.fromkeys(("twice", "zweimal", "zwo", "both", "beide", "second", "seconde"), 2),
    **dict.fromkeys(("half", "demi", "double", "pair", "doppelt"), 2),
    **dict.fromkeys(("dozen", "dutzend", "douzaine", "noon", "midi"), 12),
    **dict.fromkeys(("quatre-vingt", "quatre-vingts", "octante"), 80),
}
SCALES = {
    **dict.fromkeys(("hundred", "hundreds", "hundert", "hunderte", "cent", "cents"), 10**2),
    **dict.fromkeys(("thousand", "thousands", "tausend", "tausende", "mille", "milliers"), 10**3),
    **dict.fromkeys(("million", "millions", "millionen", "mio"), 10**6),
    **dict.fromkeys(("billion", "billions", "milliarde", "milliarden"), 10**9),
    **dict.fromkeys(("milliard", "milliards"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "billionen"), 10**12),
    "dozen": 12,
    "百": 10**2,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}
"""Words after a number that multiply it."""
_WORD = regex.compile(r"quatre-vingts?+(?!\p{Latin})|[A-Za-zÀ-ÖØ-öø-ÿ]++", regex.IGNORECASE)
_AND = frozenset({"and", "et"})
_LONGEST_WORD = 40
_ZH_DIGITS = {char: value % 10 for value, char in enumerate("〇一二三四五六七八九零")} | {"两": 2}
_ZH_UNITS = {"十": 10, "百": 100, "千": 1000}
_ZH_LARGE = {"万": 10**4, "亿": 10**8}
_ZH = regex.compile("(?:[〇零一二两三四五六七八九十百万亿]|千(?![米克瓦卡])){1,30}")


def _words() -> Iterator[tuple[str, int]]:
    """Words for the numbers below a hundred, and the names of months."""
    yield from _OTHER_WORDS.items()
    for locale in _MONTH_LOCALES:
        for width in ("abbreviated", "wide"):
            for number, name in get_month_names(width, locale=locale).items():
                yield name.lower().rstrip("."), number
    for locale, values in _SINGLE_WORDS.items():
        for value in values:
            yield num2words(value, lang=locale), value
            ordinal = num2words(value, lang=locale, to="ordinal")
            yield ordinal, value
            if locale == "de":
                yield from ((ordinal + ending, value) for ending in _GERMAN_ENDINGS)


_SIMPLE = dict(_words())


class NumberWords(NamedTuple):
    """text[start:end] stands for `value`; `is_certain` if for nothing else."""

    start: int
    end: int
    value: int
    is_certain: bool


def number_words(text: str) -> Iterator[NumberWords]:
    """The numbers in words of a text, in order of their script. Linear time."""
    yield from _latin(text)
    for match in _ZH.finditer(text):
        yield from _chinese(match.group(), match.start())


def _latin(text: str) -> Iterator[NumberWords]:
    """Every word's own value, and that of each run of words such as `three hundred and five`."""
    whole = part = 0
    start = end = -1
    for match in _WORD.finditer(text):
        word = match.group().lower()
        is_next = end >= 0 and text[end : match.start()].strip(" -\u00a0") == ""
        value = None if word in SCALES else _value(word)
        if start >= 0 and not (is_next and (word in SCALES or word in _AND or value is not None)):
            yield NumberWords(start, end, whole + part, is_certain=False)
            start, end, whole, part = -1, -1, 0, 0
        if word in SCALES:
            part = max(part, 1) * SCALES[word]
            if SCALES[word] > 100:
                whole, part = whole + part, 0
        elif value is not None:
            yield NumberWords(*match.span(), value, is_certain=False)
            if word == "sept":  # seven in French, September in English
                yield NumberWords(*match.span(), 9, is_certain=False)
            part += value
        elif start < 0:
            continue
        start = match.start() if start < 0 else start
        end = match.end()
    if end >= 0:
        yield NumberWords(start, end, whole + part, is_certain=False)


def _value(word: str) -> int | None:
    """The value of a word, also of a German compound such as `dreihundertfünfundzwanzig`."""
    if word in _SIMPLE or len(word) > _LONGEST_WORD:
        return _SIMPLE.get(word)
    for name in ("tausend", "hundert"):
        head, found, tail = word.partition(name)
        if found:
            count = _value(head) if head else 1
            rest = _value(tail.removeprefix("und")) if tail else 0
            return None if count is None or rest is None else count * SCALES[name] + rest
    return None


def _chinese(chars: str, start: int) -> Iterator[NumberWords]:
    if all(char in _ZH_DIGITS for char in chars):
        value = int("".join(str(_ZH_DIGITS[char]) for char in chars))
        yield NumberWords(start, start + len(chars), value, is_certain=len(chars) == 4)
        for place, char in enumerate(chars if len(chars) < 4 else ""):
            yield NumberWords(start + place, start + place + 1, _ZH_DIGITS[char], is_certain=False)
        return
    found = _chinese_value(chars)
    if found is not None:
        is_certain = len(chars) > 1 and chars[0] in _ZH_DIGITS
        yield NumberWords(start, start + len(chars), found, is_certain=is_certain)


def _chinese_value(chars: str) -> int | None:
    """The value of digits and units; None if they are no number, such as 三五百."""
    total = section = 0
    digit: int | None = None
    for char in chars:
        if char in _ZH_DIGITS:
            if digit:
                return None
            digit = _ZH_DIGITS[char]
        elif char in _ZH_UNITS:
            section += (1 if digit is None else digit) * _ZH_UNITS[char]
            digit = None
        else:
            section = (section + (digit or 0)) or 1
            total, section, digit = (total + section) * _ZH_LARGE[char], 0, None
    return total + section + (digit or 0)
