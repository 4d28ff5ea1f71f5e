"""Chinese units of which networks know only the signs: 350克 is 350g, and 五百克 500g."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import chinese_value
from service.translation.sentence.replaced import Replacement

_SIGNS = {
    "克": "g",
    "千克": "kg",
    "毫克": "mg",
    "毫升": "ml",
    "升": "L",
    "瓦": "W",
    "千瓦": "kW",
    "千瓦时": "kWh",
    "伏": "V",
    "千伏": "kV",
    "千米": "km",
    "平米": "平方米",
}
_MEASURE = regex.compile(
    r"(?<![第几数上])(?:(?P<digits>[0-9])|(?<![\d一二三四五六七八九十百千万亿两点半])"
    r"(?P<words>[一二三四五六七八九十两][一二三四五六七八九十百千两]{0,6}?))\s?(?P<unit>千瓦时|(?<=[0-9]\s?)千米(?!每|/)|[千毫]?克|毫?升|千?[瓦伏](?:特(?!别))?|平米)"
    r"(?<!一升|一瓦|一伏)(?![拉隆服制星里罗林至到级学旗天击地房片罐解格降值入起温空任\d])"
)
"""Not 3克拉, 由3升至5 and 一升再升."""


def find_chinese_units(text: str) -> Iterator[Replacement]:
    """Those of a text behind numbers in digits, and with numbers in words."""
    for found in _MEASURE.finditer(text):
        sign = _SIGNS[found["unit"].removesuffix("特")]
        if found["digits"]:
            yield Replacement(found.start("unit"), found.end(), sign)
        elif (value := chinese_value(found["words"])) is not None:
            yield Replacement(*found.span(), f"{value}{sign}")
