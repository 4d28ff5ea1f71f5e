"""Chinese years with their era as English ones: networks lose that 公元前221年 is 221 BC, and make
618 years of 公元618年. And English ones and centuries as Chinese ones: they lose that 753 BC is
公元前753年."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.checks.number_words import numeral_value
from service.translation.sentence.replaced import Replacement

_ERA = regex.compile(
    r"公元(?P<is_before>前)?\s?(?P<year>[0-9]{1,4}|[一二三四五六七八九十百千零〇]{1,8})\s?年"
    r"(?!代|\s?[A-Za-z0-9]|[一二三四五六七八九十]{1,3}月)"
)


def find_eras(text: str) -> Iterator[Replacement]:
    """Those of a text, as 221 BC and AD 618, but of no date with a month."""
    for found in _ERA.finditer(text) if "公元" in text else ():
        if year := numeral_value(found["year"]):
            new = f"AD {year}" if found["is_before"] is None else f"{year} BC"
            yield Replacement(*found.span(), new)


_BC, _AD = r"B\.?\s?C(?:\.?\s?E)?", r"A\.?\s?D"
_ENGLISH_ERA = regex.compile(
    r"(?<![\w.,/$€£-])(?:(?P<first>\d{1,4})\s?[-–—]\s?)?"
    r"(?:(?P<century>\d{1,2})(?:st|nd|rd|th)[\s-]century|(?P<year>\d{1,4}))"
    rf"\s(?:(?P<is_before>{_BC})|{_AD})(?![\w-])(?:\.(?=\W*+\w))?"
    r"|(?<![\w.])A\.?D\.?\s(?P<year>\d{1,4})(?![\d:]|[.,/-]\d)"
)


def find_english_eras(text: str, source: str, target: str) -> Iterator[Replacement]:
    """Those of an English text in digits, as 公元前44年 and 公元5世纪."""
    for found in _ENGLISH_ERA.finditer(text) if (source, target) == ("en", "zh") else ():
        era = "公元" if found["is_before"] is None else "公元前"
        first = f"{found['first']}–" if found["first"] else ""
        number = f"{found['century']}世纪" if found["century"] else f"{found['year']}年"
        yield Replacement(*found.span(), f"{era}{first}{number}")
