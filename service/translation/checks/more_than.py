"""Chinese numbers of which there are some more, as 五百多万, 500余 and 十几: networks take 500多万
for 500,000, but know 超过500万; and 几万, of which they make several thousand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import regex

from service.translation.checks.number_words import InDigits, chinese_value

MORE_THAN = "超过"
_NUMERAL = "一二三四五六七八九两〇零十百千万亿"
_SCALE = "(?P<scale>[百千]?万|万?亿)?"
_FOUND = regex.compile(
    rf"(?<![\d.,第几数上点{_NUMERAL}])(?:(?P<number>\d{{1,3}}(?:,\d{{3}}){{1,3}}|\d{{1,8}}(?:\.\d{{1,2}})?){_SCALE}"
    rf"|(?P<words>[{_NUMERAL}]{{1,9}}))(?:[多余]|(?<=十)几){_SCALE}(?![{_NUMERAL}]|分之)"
    r"(?<!多(?=[少么数媒功于边半])|余(?=[额下款热地粮生数]))"
)
_BOUND = regex.compile(r"(?:超过?|逾|[到达近约])\Z")
_LONGEST_BOUND = 2
_SEVERAL = regex.compile(
    rf"(?:{MORE_THAN}|逾|好)?(?:(?<![\d第十百千万亿])几|(?<![人总次件倍基系位参函指少多无分岁票])数)"
    r"(?P<scale>[十千]?万亿?|[百千]?亿)(?![万亿十百千分多余])"
)
_ROUND, _LARGE = 10, ("万亿", "亿", "万")


def find_more_than(text: str) -> Iterator[InDigits]:
    """Those of a Chinese text, with a word for more unless one for a bound stands before it. Only
    round numbers have some more. Linear time."""
    for found in _FOUND.finditer(text) if any(sign in text for sign in "多余几") else ():
        if (number := _number(found)) is not None:
            start, end = found.span()
            has_bound = _BOUND.search(text, max(0, start - _LONGEST_BOUND), start)
            yield InDigits(start, end, number if has_bound else MORE_THAN + number)


def find_several(text: str) -> Iterator[InDigits]:
    """几万 and 数亿 as more than one of the scale; not 数百万 and 数十亿, which networks know. A
    translation may say so in words. Linear time."""
    for found in _SEVERAL.finditer(text) if "几" in text or "数" in text else ():
        scale = found["scale"]
        large = "万亿" if scale.endswith("万亿") else scale[-1]
        number = f"{MORE_THAN}{chinese_value(scale.removesuffix(large) or '一')}{large}"
        yield InDigits(*found.span(), number)


def _number(found: regex.Match[str]) -> str | None:
    """The number in digits; None if it is none, or not round."""
    scales = found.captures("scale")
    written = found["number"] or chinese_value(found["words"])
    if written is None:
        return None
    value = Decimal(str(written).replace(",", "")) * math.prod(map(_factor, scales))
    if value % _ROUND or not value:
        return None
    if found["number"]:
        return "".join([found["number"], *scales])
    large = next((word for word in _LARGE if not value % _factor(word)), "")
    return f"{value / _factor(large):f}{large}"


def _factor(scale: str) -> int:
    return chinese_value(scale) or 1
