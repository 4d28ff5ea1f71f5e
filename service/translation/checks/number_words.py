"""Numbers in words: English, German, French and Chinese.

A word gives the values that it may stand for. Whether it must be translated as a number is another
matter: `a`, `second` and `十分` need not. The table is ours because the packages that have one
(num2words, Babel: the tests compare) would take 7 MB in each server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

_FROM_ZERO = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
    "zéroième premier deuxième troisième quatrième cinquième sixième septième huitième neuvième "
    "dixième onzième douzième treizième quatorzième quinzième seizième",
)
TO_TWELVE = {"en": _FROM_ZERO[0].split()[1:13], "de": _FROM_ZERO[2].split()[1:13]}
"""The words from one to twelve by language."""
_GERMAN_ORDINALS = (
    "nullte erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte "
    "dreizehnte vierzehnte fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte"
)
_GERMAN_ENDINGS = ("", "n", "r", "s", "m", "ns")
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante septante huitante nonante",
    "vingtième trentième quarantième cinquantième soixantième septantième huitantième nonantième",
)
"""Words for 20, 30, ..."""
_MONTHS = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jänner februar märz apr mai juni juli aug sept okt nov dez",
    "jän feb märz apr mai juni juli aug sep okt nov dez",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv févr mars avr mai juin juil août sept oct nov déc",
)
_OTHER_WORDS = {
    **dict.fromkeys(("a", "an", "ein", "eine", "einen", "einer", "einem", "eines", "une"), 1),
    **dict.fromkeys(("once", "einmal", "première"), 1),
    **dict.fromkeys(("twice", "zweimal", "zwo", "both", "beide", "second", "seconde"), 2),
    **dict.fromkeys(("quarter", "quarters", "viertel", "quart"), 4),
    **dict.fromkeys(("drittel", "dritteln"), 3),
    **dict.fromkeys(("half", "demi", "double", "pair", "doppelt"), 2),
    **dict.fromkeys(("dozen", "dutzend", "douzaine", "noon", "midi"), 12),
    **dict.fromkeys(("quatre-vingt", "quatre-vingts", "octante"), 80),
}
SCALES = {
    **dict.fromkeys(("hundred", "hundreds", "hundert", "hunderte", "cent", "cents"), 10**2),
    **dict.fromkeys(("thousand", "thousands", "tausend", "tausende", "mille", "milliers"), 10**3),
    **dict.fromkeys(("million", "millions", "millionen"), 10**6),
    **dict.fromkeys(("billion", "billions", "milliarde", "milliarden"), 10**9),
    **dict.fromkeys(("milliard", "milliards"), 10**9),
    **dict.fromkeys(("trillion", "trillions", "billionen"), 10**12),
    "quadrillion": 10**15,
    "quintillion": 10**18,
    "dozen": 12,
    "百": 10**2,
    "千": 10**3,
    "万": 10**4,
    "亿": 10**8,
}
"""Words after a number that multiply it."""
ABBREVIATED_SCALES = {
    "tsd": 10**3,
    **dict.fromkeys(("mio", "mln", "mn"), 10**6),
    **dict.fromkeys(("mrd", "mld", "bn"), 10**9),
    "bio": 10**12,
    **dict.fromkeys(("billiarde", "billiarden"), 10**15),
    "trillionen": 10**18,
}
"""The same, after a number of which the value is never meant without them."""
_WORD = re.compile(r"(?i:quatre-vingts?+)(?![A-Za-zÀ-ɏ])|[A-Za-zÀ-ÖØ-öø-ÿ]++")
_AND = frozenset({"and", "et"})
_LONGEST_WORD = 70
_ZH_DIGITS = {char: value % 10 for value, char in enumerate("〇一二三四五六七八九零")} | {"两": 2}
_ZH_UNITS = {"十": 10, "百": 100, "千": 1000}
_ZH_LARGE = {"万": 10**4, "亿": 10**8}
HAS_NUMBERS = regex.compile(
    r"\d|[一二两兩三四五六七八九][〇零一二三四五六七八九十百千万萬亿億]|[点點][半一二三四五六七八九零]|[十百千万萬亿億][多余餘几幾]|[几幾数數](?:[十千]?[万萬]|[百千]?[亿億])"
    r"|[一二三四五六七八九十]月[一二三四五六七八九十]|[壹贰貳叁參肆伍陆陸柒捌玖][拾佰仟万萬亿億元圆圓角]"
)
"""A digit, or what Chinese numbers in words have that must be translated as numbers, and dates."""
BEFORE_REPUBLIC = 1911
"""The year before the first one of Taiwan's calendar."""
_ORDINAL_ENDINGS, _TEENS = {1: "st", 2: "nd", 3: "rd"}, range(11, 14)
_ZH = regex.compile("(?:[〇零一二两三四五六七八九十百万亿]|千(?![米克瓦卡])){1,30}")


def _words() -> Iterator[tuple[str, int]]:
    """Single words for the numbers below a hundred, and the names of months."""
    yield from _OTHER_WORDS.items()
    for names in _MONTHS:
        yield from zip(names.split(), range(1, 13), strict=True)
    for names in _FROM_ZERO:
        yield from zip(names.split(), range(20), strict=False)
    for number, name in enumerate(_FROM_ZERO[1].split()[3:11], 3):
        yield f"{name}s", number
    for number, name in enumerate(_FROM_ZERO[2].split()[4:11], 4):
        yield from ((f"{name.removesuffix('en')}tel{ending}", number) for ending in ("", "n"))
    for names in _TENS:
        yield from zip(names.split(), range(20, 100, 10), strict=True)
    tens = _TENS[2].replace("ig", "igste").split()
    ordinals = [*enumerate(_GERMAN_ORDINALS.split()), *zip(range(20, 100, 10), tens, strict=True)]
    for number, ordinal in ordinals:
        yield from ((ordinal + ending, number) for ending in _GERMAN_ENDINGS)


_SIMPLE = dict(_words())


class NumberWords(NamedTuple):
    """text[start:end] stands for `value`; `is_certain` if for nothing else."""

    start: int
    end: int
    value: int
    is_certain: bool


class InDigits(NamedTuple):
    """text[start:end] is a number in words, and `digits` the same in digits."""

    start: int
    end: int
    digits: str


def number_words(text: str) -> Iterator[NumberWords]:
    """The numbers in words of a text, in order of their script. Linear time."""
    yield from _latin(text)
    for match in () if text.isascii() else _ZH.finditer(text):
        yield from _chinese(match.group(), match.start())


def ordinal_ending(number: int) -> str:
    """What stands behind the digits of an English ordinal, as in 22nd."""
    return "th" if number % 100 in _TEENS else _ORDINAL_ENDINGS.get(number % 10, "th")


def words_value(words: str) -> int | None:
    """The value of words that are one number, such as `three hundred and five`."""
    runs = [*_latin(words)]
    return next((run.value for run in reversed(runs) if run[:2] == (0, len(words))), None)


def _latin(text: str) -> Iterator[NumberWords]:
    """Every word's own value, and that of each run of words such as `three hundred and five`."""
    whole = part = 0
    start = end = -1
    for match in _WORD.finditer(text):
        word = match.group().lower()
        value = None if word in SCALES else _value(word)
        if start < 0 and value is None and word not in SCALES:
            continue
        is_next = end >= 0 and text[end : match.start()].strip(" -\u00a0") == ""
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
    if "und" not in word and "tausend" not in word:
        return None
    for name in ("tausend", "hundert"):
        head, found, tail = word.partition(name)
        if found:
            count = _value(head) if head else 1
            rest = _value(tail.removeprefix("und")) if tail else 0
            return None if count is None or rest is None else count * SCALES[name] + rest
    ones, _, tens = word.partition("und")
    value, rest = _SIMPLE.get(ones, 0), _SIMPLE.get(tens, 0)
    return value + rest if 0 < value < 10 and rest >= 20 else None


def _chinese(chars: str, start: int) -> Iterator[NumberWords]:
    if all(char in _ZH_DIGITS for char in chars):
        value = int("".join(str(_ZH_DIGITS[char]) for char in chars))
        yield NumberWords(start, start + len(chars), value, is_certain=len(chars) == 4)
        for place, char in enumerate(chars if len(chars) < 4 else ""):
            yield NumberWords(start + place, start + place + 1, _ZH_DIGITS[char], is_certain=False)
        return
    found = chinese_value(chars)
    if found is not None:
        is_certain = len(chars) > 1 and (
            chars[0] in _ZH_DIGITS or (chars[0] == "十" and chars[-1] in _ZH_LARGE)
        )
        yield NumberWords(start, start + len(chars), found, is_certain=is_certain)


def numeral_value(numeral: str) -> int:
    """The value of a numeral in digits or in Chinese words; 0 if it has none."""
    return int(numeral) if numeral.isdecimal() else chinese_value(numeral) or 0


def chinese_value(chars: str) -> int | None:
    """The value of digits and units; None if they are no number, such as 三五百. A last digit
    without 零 before it counts the next smaller unit: 一万二 is 12,000."""
    total = myriads = section = 0
    unit, digit, is_after_zero = 1, None, False
    for char in chars:
        if char in _ZH_DIGITS:
            if digit:
                return None
            is_after_zero = digit == 0 or char in "〇零"
            digit = _ZH_DIGITS[char]
        elif char in _ZH_UNITS:
            unit = _ZH_UNITS[char]
            section += (1 if digit is None else digit) * unit
            digit = None
        else:
            unit = _ZH_LARGE[char]
            section += digit or 0
            if char == "亿":  # of all before it: 三万亿 is 3 * 10 ** 12
                total, myriads = (total + myriads + section or 1) * unit, 0
            else:
                myriads = (myriads + section or 1) * unit
            section, digit = 0, None
    if unit > 10 and not is_after_zero:
        return total + myriads + section + (digit or 0) * unit // 10
    return total + myriads + section + (digit or 0)
