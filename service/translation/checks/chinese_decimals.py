"""Chinese decimals, tenths, heights, prices and ranges in words: 五点二亿 is 5.2亿, 一又二分之一
1.5, 两成 20%, 一米六五 and 1米65 are 1.65米, 9秒83 is 9.83秒, 15块5 15.5元, and 三四百 300-400."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.formal_numerals import find_formal
from service.translation.checks.number_words import InDigits, chinese_value, numeral_value

_DIGITS = "一二三四五六七八九"
_NUMERAL = f"{_DIGITS}两〇零十百千万亿"
_SCALE = "万亿|[百千]万|[万亿]"
_UNIT = (
    r"倍|[公英]里|[千厘毫微纳平立]?米|公斤|千?克|斤|吨|毫?升|度|级|[元块]|[美欧日]元|英[镑寸尺]"
    r"|平方|立方|公顷|亩|秒|个百分点|个?小时|个月|分|%|％"
)
_DECIMAL = regex.compile(
    rf"(?<![\d第点上下午晚晨夜里{_NUMERAL}]|现在是?|时间[是为]?|已经?是?)(?P<percent>百分之)?(?P<whole>[{_NUMERAL}]{{1,9}})"
    rf"点(?P<rest>[{_DIGITS}零〇]{{1,9}})(?(percent)(?!点)|(?={_SCALE}|{_UNIT}"
    rf"|(?<=点[{_DIGITS}].{{1,8}})(?:$|[，。；！？、,;!?)）])))(?P<of_hour>(?=[十百千]?[{_DIGITS}]?[分刻]))?"
)
"""A time has no percent, scale or unit behind it, no two digits without 十 but 零五, and at most 24
hours."""
_HOURS = 24
_HEIGHT = regex.compile(
    rf"(?<![\d.第{_NUMERAL}])(?:(?P<metres>[0-9])米(?P<rest>[0-9]{{1,2}})(?![\d.多几]|\s?[\p{{Latin}}厘分毫米])"
    rf"|(?P<metres>[一两二三])米(?P<rest>[{_DIGITS}]{{1,2}})(?=$|[，。；！？、,.;!?\s)）的高长宽深左以]))"
)
_PRICE = regex.compile(
    rf"(?<![\d.第点{_NUMERAL}])(?P<yuan>[0-9]{{1,5}}|[{_NUMERAL}]{{1,5}})块(?P<jiao>[1-9]|[二三四五六七八九])"
    r"(?:[毛角]|(?=$|[，。；！？、,.;!?\s)）的]|[一每][个份斤只条瓶杯张公]|钱|左右))"
)
"""Not 10块3个, which is three for 10."""
_SECONDS = regex.compile(r"(?<=(?<![\d.])\d{1,2})秒(?P<rest>\d{2})(?![\d.:：]|\s?[\p{Latin}秒分])")
"""Of a result in sports."""
_MIXED = regex.compile(
    rf"(?<![\d点{_NUMERAL}])(?P<whole>[{_DIGITS}]|[{_DIGITS}]?十[{_DIGITS}]?)又(?P<parts>[二四五八十])分之(?P<count>[{_DIGITS}])(?![{_NUMERAL}])"
)
_HAS_PAIR = regex.compile(rf"[{_DIGITS}两][{_DIGITS}]")
_TENTHS = regex.compile(
    rf"(?<=[了约近涨降跌超过有占少多增减达到]|不足)(?P<tens>[{_DIGITS}两])成(?P<ones>[{_DIGITS}])?"
    r"(?=$|[，。；！？、,;!?\s)）以的左多把])"
)
_COUNTED = "个|天|岁|次|人|名|位|小时|分钟|公里|米|本|只|条|块|元|周|倍|种|件|家|辆|张|斤|里|层|户"
_RANGE = regex.compile(
    rf"(?<![\d第点{_NUMERAL}])(?:(?P<low>[{_DIGITS}两])(?P<high>[{_DIGITS}])(?P<unit>[十百千])"
    rf"(?![{_NUMERAL}分])|(?P<tens>[二三四五六七八九]?十)?(?P<low>[{_DIGITS}两])(?P<high>(?!(?<=三)五)[{_DIGITS}])"
    rf"(?={_COUNTED}|点(?![{_DIGITS}零]))|(?P<few>(?P<low>三)(?P<high>五)(?=天|次|周|个月|个?小时|分钟)))"
)
"""三四百, 三四天, 三五天 and 十七八岁, but not 五六年, which is 1956, too."""


def find_decimals(text: str) -> Iterator[InDigits]:
    """Those of a Chinese text, in their order. Linear time."""
    if "点" in text:
        for found in _DECIMAL.finditer(text):
            whole = chinese_value(found["whole"])
            if whole is not None and (found["of_hour"] is None or whole > _HOURS):
                sign = "%" if found["percent"] else ""
                yield InDigits(*found.span(), f"{whole}.{_digits(found['rest'])}{sign}")
    if "又" in text:
        for found in _MIXED.finditer(text):
            whole, parts, count = (
                chinese_value(found[name]) or 0 for name in ("whole", "parts", "count")
            )
            yield InDigits(*found.span(), f"{whole + count / parts:g}")
    if "成" in text:
        for found in _TENTHS.finditer(text):
            yield InDigits(*found.span(), f"{_digits(found['tens'] + (found['ones'] or '零'))}%")
    for found in _RANGE.finditer(text) if _HAS_PAIR.search(text) else ():
        low, high, unit, tens = (
            chinese_value(found[name] or "零") or 0 for name in ("low", "high", "unit", "tens")
        )
        if high == low + 1 or found["few"]:
            times = unit or 1
            yield InDigits(*found.span(), f"{tens + low * times}-{tens + high * times}")
    if "米" in text:
        for found in _HEIGHT.finditer(text):
            metres, rest = _digits(found["metres"]), _digits(found["rest"])
            yield InDigits(*found.span(), f"{metres}.{rest}米")
    if "秒" in text:
        for found in _SECONDS.finditer(text):
            yield InDigits(*found.span(), f".{found['rest']}秒")
    yield from find_prices(text)


def find_prices(text: str) -> Iterator[InDigits]:
    """Those of yuan and tenths, and in formal numerals. Linear time."""
    yield from find_formal(text)
    for found in _PRICE.finditer(text) if "块" in text else ():
        yuan, jiao = (numeral_value(found[name]) for name in ("yuan", "jiao"))
        yield InDigits(*found.span(), f"{yuan}.{jiao}元")


def _digits(numeral: str) -> str:
    return "".join(char if char.isdecimal() else str(chinese_value(char)) for char in numeral)
