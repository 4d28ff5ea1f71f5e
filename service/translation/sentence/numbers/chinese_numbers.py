"""Chinese numbers that networks take for others: 8折 is 20 % off, 零下5度 and 为-5 are below zero,
3点半 is 3:30, 2分30秒 is two numbers, 近万人 is 1万, 50多万 is over 50万, 3比2 is 3:2, 3～5 is
3-5, 9·11 is a day, and 共3个 are three of no republic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

from service.translation.checks.chinese_decimals import find_decimals
from service.translation.checks.chinese_years import find_years
from service.translation.checks.idioms import find_idioms
from service.translation.checks.mixed_amounts import find_mixed
from service.translation.checks.more_than import find_more_than, find_several
from service.translation.checks.number_words import chinese_value, numeral_value
from service.translation.checks.numbers import has_minus
from service.translation.language.line_marks import NUMERAL
from service.translation.sentence.numbers.chinese_hours import HOUR_IN_WORDS
from service.translation.sentence.numbers.numerals import DIGITS, MINUTES
from service.translation.sentence.numbers.parts_of_day import PARTS, SHORT_PART
from service.translation.sentence.replaced import Replacement

_LONG_PARTS = {"早": "早上", "晚": "晚上", "今早": "今天早上", "明早": "明天早上"}
"""Parts of the day as networks know them before an hour."""
_MONTHS = 12
_HUNDRED, _PARTS_OF_PERCENT = 100, (1000, 10_000)
_DISCOUNT = regex.compile(
    rf"打?\s?(?<![\d.,第点{DIGITS}十百千])"
    rf"(?:(?P<number>(?!10)[1-9][0-9]?(?:\.[0-9])?)|(?P<digit>[{DIGITS}])(?:点?(?P<digit>[{DIGITS}]))?)\s?折"
    r"(?:优惠|扣)?(?=$|[\s，。；！？、,;!?)）起价后的促出特卖销])"
)
"""Of the words that begin with 折, some follow a number: 三折伞."""
_MINUS = regex.compile(r"(?<=\p{Han})[-−](?=\d)")


def find_chinese_numbers(text: str) -> Iterator[Replacement]:
    """Those of a text that networks take for others."""
    spelled_out = *find_idioms(text), *find_mixed(text), *find_more_than(text), *find_several(text)
    in_words = *find_decimals(text), *find_years(text)
    yield from (Replacement(*one) for one in (*spelled_out, *in_words))
    for sign in _MINUS.finditer(text):
        if has_minus(text, sign.end()):
            yield Replacement(*sign.span(), f" {sign.group()}")
    for pattern, write in _RULES:
        for found in pattern.finditer(text):
            if (new := write(found)) != found.group():
                yield Replacement(*found.span(), new)


def find_discounts(text: str) -> Iterator[tuple[int, int, str]]:
    """The place of each price in tenths, such as 8折, and how many percent are off, as 20%."""
    for found in _DISCOUNT.finditer(text) if "折" in text else ():
        yield *found.span(), _percent_off(found)


def _below_zero(found: regex.Match[str]) -> str:
    value = chinese_value(found["digit"]) if found["digit"] else ""
    return found.group() if value is None else f" -{value}"


def _discount(found: regex.Match[str]) -> str:
    return f"{_percent_off(found)}折扣"


def _percent_off(found: regex.Match[str]) -> str:
    digits = "".join(str(chinese_value(one)) for one in found.captures("digit"))
    paid = float(found["number"] or digits)
    return f"{round(100 - (10 * paid if paid < 10 else paid), 1):g}%"


def _clock(found: regex.Match[str]) -> str:
    return f"点{MINUTES[found['part']]}分"


def _late_clock(found: regex.Match[str]) -> str:
    return f"{chinese_value(found['hour'])}:{MINUTES[found['part']]}"


def _bare_hour(found: regex.Match[str]) -> str:
    return f"{numeral_value(found['hour'])}点"


def _part_of_day(found: regex.Match[str]) -> str:
    return _LONG_PARTS[found.group()]


def _months(found: regex.Match[str]) -> str:
    first, last = int(found["first"]), int(found["last"])
    return f"{first}月到{last}月份" if 0 < first < last <= _MONTHS else found.group()


def _war(found: regex.Match[str]) -> str:
    return f"第{found['which']}次世界大战"


def _duration(found: regex.Match[str]) -> str:
    return "、".join(f"{one}钟" if one[-1] == "分" else one for one in found.captures("part"))


def _one_myriad(_: regex.Match[str]) -> str:
    return "1万"


def _in_list(found: regex.Match[str]) -> str:
    value = chinese_value(found.group())
    return found.group() if value is None else str(value)


def _until(_: regex.Match[str]) -> str:
    return "至"


def _nothing(_: regex.Match[str]) -> str:
    return ""


def _height(_: regex.Match[str]) -> str:
    return "高度"


def _likely(_: regex.Match[str]) -> str:
    return "很可能"


def _to(_: regex.Match[str]) -> str:
    return "到"


def _fraction(found: regex.Match[str]) -> str:
    parts, count = map(numeral_value, found.group("parts", "count"))
    if not parts or not count or count >= parts or parts == _HUNDRED:
        return found.group()
    return f"{100 * count / parts:g}%" if parts in _PARTS_OF_PERCENT else f"{count}/{parts:,}"


def _score(found: regex.Match[str]) -> str:
    return ":".join(str(numeral_value(side)) for side in found.captures("side"))


def _in_total(_: regex.Match[str]) -> str:
    return "总共"


def _slash(_: regex.Match[str]) -> str:
    return "/"


def _hyphen(_: regex.Match[str]) -> str:
    return "-"


_RULES: tuple[tuple[regex.Pattern[str], Callable[[regex.Match[str]], str]], ...] = (
    (regex.compile(rf"零下\s?(?:(?=\d)|(?P<digit>[{DIGITS}十]{{1,3}})(?=度|摄))"), _below_zero),
    (_DISCOUNT, _discount),
    (
        regex.compile(
            r"(?<![\d.点])(?:(?P<part>\d{1,3}个?小时)(?P<part>\d{1,2}分钟?)|(?P<part>\d{1,3}分钟?)(?=\d))"
            r"(?P<part>\d{1,2}秒钟?)?+(?![\d.])"
        ),
        _duration,
    ),
    (
        regex.compile(
            r"(?<=[超近约达逾满过足到低高]于?)万(?=[元人名台辆件套吨亩次册张只条块美欧])"
        ),
        _one_myriad,
    ),
    (
        regex.compile(
            rf"(?<![\d又点几数{DIGITS}两十百千万亿])(?P<parts>[{DIGITS}两十百千万]{{1,6}})分之"
            rf"(?P<count>[{DIGITS}十]{{1,3}})(?![点百千万{DIGITS}十决])"
            r"|(?<![\d又点.,:/])(?P<parts>\d{1,6})分之(?P<count>\d{1,3})(?![\d点百千万.,:/决])"
        ),
        _fraction,
    ),
    (regex.compile(rf"(?<=(?:^|[；;：:，。、\s])[（(]){NUMERAL}(?=[）)])"), _in_list),
    (
        regex.compile(
            rf"(?<=(?:{PARTS['zh']}|[日号于在至从间])\s?)(?P<hour>[01]?\d|2[0-4]|{HOUR_IN_WORDS})时整?"
            rf"(?![\d{DIGITS}十零分半刻钟])"
        ),
        _bare_hour,
    ),
    (
        regex.compile(rf"(?:[今明]早|{SHORT_PART})(?=(?:\d{{1,2}}|十[一二]?|[{DIGITS}两])[点时])"),
        _part_of_day,
    ),
    (
        regex.compile(
            r"(?<![\d./-])(?P<first>\d{1,2})(?:月份?)?\s?[-–—~～至到]\s?(?P<last>\d{1,2})月份?(?![\d龄球])"
        ),
        _months,
    ),
    (
        regex.compile(
            r"(?<=(?:周|星期|礼拜)[一二三四五六日天])\s?[-–—~～〜]\s?(?=(?:周|星期|礼拜)[一二三四五六日天])"
        ),
        _until,
    ),
    (regex.compile(rf"(?<=第)[{DIGITS}]千[{DIGITS}零百十]{{1,7}}(?=[条章节名次个])"), _in_list),
    (regex.compile("十[有之]八九"), _likely),
    (regex.compile(r"(?<=年\s?)0(?=[1-9]月(?!\s?\d))"), _nothing),
    (regex.compile(r"(?<=^|[\s，。；：、（(])海拔(?=\s?[\d⟦])"), _height),
    (regex.compile(r"(?<!\p{Han})共计?(?=\s?[\d⟦])"), _in_total),
    (regex.compile(r"(?<=(?<![\d·・])\d{1,2})[·・](?=\d{1,2}(?![\d·・]))"), _slash),
    (regex.compile(r"(?<=(?<!\d|第)(?:1?\d|2[0-4])\s?)点(?P<part>半|[一三]刻)"), _clock),
    (
        regex.compile(
            r"(?<![第\p{Nd}十百])(?P<which>[一二])战(?=前|后|期间|时期|中|结束|爆发|以来)"
        ),
        _war,
    ),
    (
        regex.compile(rf"(?<![第{DIGITS}])(?P<hour>十[一二]?)点(?P<part>半|[一三]刻)"),
        _late_clock,
    ),
    (
        regex.compile(r"(?<=[\d⟧]\s?[%％])\s?[~～〜—]++\s?(?=[\d⟦])"),
        _to,
    ),
    (
        regex.compile(
            r"(?<![\d.比:：/-])(?P<side>\d{1,3})\s?比\s?(?P<side>\d{1,3})(?![\d.比:：/]|\s?[大小多少高低长短强重轻快慢贵])"
            rf"|(?<=[以为])(?P<side>[{DIGITS}零])比(?P<side>[{DIGITS}零])(?![比{DIGITS}十百千万])"
        ),
        _score,
    ),
    (  # not between times with minutes
        regex.compile(
            r"(?<![:：]\d\d|点\d\d分)(?:(?<=\d)[～〜—]++|(?<=[日号月年点分])[～〜—])(?=\d)"
        ),
        _hyphen,
    ),
)
