"""Chinese idioms with numerals, in plain words: networks make 70 of 七上八下, and 3721 of
不管三七二十一."""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.translation.checks.number_words import InDigits

_PLAIN = {
    "一五一十地": "详细地",
    "一清二楚": "很清楚",
    "一目十行": "读得很快",
    "万无一失": "绝对安全",
    "七上八下": "很不安",
    "七手八脚": "很忙乱",
    "七零八落": "很零散",
    "三天两头": "经常",
    "三心二意": "分心",
    "三番五次": "多次",
    "三言两语": "几句话",
    "三长两短": "意外",
    "不管三七二十一": "不管怎样",
    "丢三落四": "健忘",
    "九死一生": "非常危险",
    "九牛一毛": "很少",
    "二话不说": "马上",
    "五体投地": "非常佩服",
    "五湖四海": "各地",
    "五花八门": "各种各样",
    "八九不离十": "差不多",
    "六神无主": "很慌张",
    "十万火急": "非常紧急",
    "十全十美": "非常完美",
    "十拿九稳": "很有把握",
    "千军万马": "很多军队",
    "千方百计": "想尽办法",
    "千载难逢": "难得",
    "半斤八两": "差不多",
    "四分五裂": "分裂",
    "四通八达": "非常方便",
    "四面八方": "各地",
    "接二连三": "连续",
    "数一数二": "最好",
    "横七竖八": "很乱",
    "百发百中": "总是命中",
    "说一不二": "说话算数",
    "隔三差五": "经常",
}
IDIOM = re.compile("|".join(_PLAIN))


def find_idioms(text: str) -> Iterator[InDigits]:
    """Those of a text in simplified characters. Linear time."""
    for found in IDIOM.finditer(text):
        yield InDigits(*found.span(), _PLAIN[found.group()])
