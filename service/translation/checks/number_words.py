"""Numbers in words: English, German, Chinese and French.

A word gives the values that it may stand for. Whether it must be translated as a number is another
matter: `a`, `second` and `十分` need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.checks.french_numbers import FRENCH_NUMBERS, FRENCH_SCALES, split_words

_EN_UNITS = split_words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen
    """
)
_EN_TENS = split_words(
    """
    twenty thirty forty fifty sixty seventy eighty ninety
    """
)
_DE_UNITS = split_words(
    """
    null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
    fünfzehn sechzehn siebzehn achtzehn neunzehn
    """
)
_DE_TENS = split_words(
    """
    zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
    """
)
_EN_ORDINALS = split_words(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth
    """
)
_DE_ORDINALS = split_words(
    """
    erst zweit dritt viert fünft sechst siebt acht neunt zehnt
    """
)
_MONTHS = (
    ("january", "jan", "januar", "jänner"),
    ("february", "feb", "februar"),
    ("march", "mar", "märz"),
    ("april", "apr"),
    ("may", "mai"),
    ("june", "jun", "juni"),
    ("july", "jul", "juli"),
    ("august", "aug"),
    ("september", "sep"),
    ("october", "oct", "oktober", "okt"),
    ("november", "nov"),
    ("december", "dec", "dezember", "dez"),
)
_SIMPLE = {
    **FRENCH_NUMBERS,
    **{word: value for value, word in enumerate(_EN_UNITS)},
    **{word: 20 + 10 * place for place, word in enumerate(_EN_TENS)},
    **{word: value + 1 for value, word in enumerate(_EN_ORDINALS)},
    **{word: value for value, word in enumerate(_DE_UNITS)},
    **{word: 20 + 10 * place for place, word in enumerate(_DE_TENS)},
    **{
        f"{word}{end}": value + 1
        for value, word in enumerate(_DE_ORDINALS)
        for end in ("e", "en", "er", "es", "em", "ens")
    },
    **{name: number + 1 for number, names in enumerate(_MONTHS) for name in names},
    "eins": 1,
    "eine": 1,
    "einen": 1,
    "einer": 1,
    "einem": 1,
    "eines": 1,
    "zwo": 2,
    "an": 1,
    "a": 1,
    "once": 1,
    "twice": 2,
    "einmal": 1,
    "zweimal": 2,
    "both": 2,
    "beide": 2,
    "half": 2,
    "double": 2,
    "pair": 2,
    "doppelt": 2,
    "dozen": 12,
    "dutzend": 12,
    "noon": 12,
}
SCALES = {
    **FRENCH_SCALES,
    "hundred": 10**2,
    "hundreds": 10**2,
    "hundert": 10**2,
    "hunderte": 10**2,
    "thousand": 10**3,
    "thousands": 10**3,
    "tausend": 10**3,
    "tausende": 10**3,
    "million": 10**6,
    "millions": 10**6,
    "millionen": 10**6,
    "mio": 10**6,
    "billion": 10**9,
    "billions": 10**9,
    "milliarde": 10**9,
    "milliarden": 10**9,
    "trillion": 10**12,
    "trillions": 10**12,
    "billionen": 10**12,
    "dozen": 12,
    "百": 10**2,
    "千": 10**3,
    "万": 10**4,
    "亿": 10**8,
    "萬": 10**4,
    "億": 10**8,
}
"""Words after a number that multiply it."""
_WORD = regex.compile(r"quatre-vingts?+(?!\p{Latin})|[A-Za-zÀ-ÖØ-öø-ÿ]++", regex.IGNORECASE)
_AND = frozenset({"and", "et"})
_DE_LARGE = regex.compile(
    r"(?:(?P<thousands>\w*?)tausend)?(?:(?P<hundreds>[a-zäöüß]*?)hundert)?(?:und)?(?P<rest>\w*)"
)
_DE_AND = regex.compile(r"(?P<unit>\w+?)und(?P<tens>\w+?ig)")
_LONGEST_WORD = 40
_ZH_DIGITS = {char: value % 10 for value, char in enumerate("〇一二三四五六七八九零")} | {"两": 2}
_ZH_UNITS = {"十": 10, "百": 100, "千": 1000}
_ZH_LARGE = {"万": 10**4, "亿": 10**8}
_ZH = regex.compile("(?:[〇零一二两三四五六七八九十百万亿]|千(?![米克瓦卡])){1,30}")


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
        if not is_next and end >= 0:
            yield NumberWords(start, end, whole + part, is_certain=False)
            start, whole, part = -1, 0, 0
        value = _SIMPLE.get(word)
        value = _german(word) if value is None and word not in SCALES else value
        if word in SCALES:
            scale = SCALES[word]
            start = match.start() if start < 0 else start
            part = max(part, 1) * scale
            if scale > 100:
                whole, part = whole + part, 0
        elif value is not None:
            yield NumberWords(*match.span(), value, is_certain=False)
            if word == "sept":  # seven in French, September in English
                yield NumberWords(*match.span(), 9, is_certain=False)
            start = match.start() if start < 0 else start
            part += value
        elif word not in _AND or start < 0:
            if start >= 0:
                yield NumberWords(start, end, whole + part, is_certain=False)
            start, end, whole, part = -1, -1, 0, 0
            continue
        end = match.end()
    if end >= 0:
        yield NumberWords(start, end, whole + part, is_certain=False)


def _german(word: str) -> int | None:
    """The value of a compound such as `dreihundertfünfundzwanzig`."""
    if len(word) > _LONGEST_WORD or not ("und" in word or "hundert" in word or "tausend" in word):
        return None
    match = _DE_LARGE.fullmatch(word)
    if match is None:
        return None
    parts = [
        1000 * _below_hundred_or_one(match["thousands"]),
        100 * _below_hundred_or_one(match["hundreds"]),
        _below_hundred(match["rest"]) if match["rest"] else 0,
    ]
    return None if any(part < 0 for part in parts) else sum(parts)


def _below_hundred_or_one(word: str | None) -> int:
    """0 for no match, 1 for an empty one, negative for what is no number."""
    if word is None:
        return 0
    return _below_hundred(word) if word else 1


def _below_hundred(word: str) -> int:
    if (both := _DE_AND.fullmatch(word)) is not None:
        unit, tens = _SIMPLE.get(both["unit"], -1), _SIMPLE.get(both["tens"], -1)
        return unit + tens if 0 < unit < 10 <= tens else -1
    if word.startswith("hundert") or word.endswith("hundert"):
        return -1
    return _SIMPLE.get(word, -1)


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
