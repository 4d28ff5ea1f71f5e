"""Chinese numerals of cheques and contracts, which are hard to forge: 壹仟贰佰叁拾肆元伍角整 is
1,234.5元."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import regex

from service.translation.checks.number_words import InDigits, chinese_value

_FORMAL = "壹贰叁参肆伍陆柒捌玖"
_USUAL = str.maketrans(f"{_FORMAL}拾佰仟", "一二三三四五六七八九十百千")
_FOUND = regex.compile(
    rf"(?<![{_FORMAL}拾佰仟万亿第])(?P<whole>[{_FORMAL}](?:[拾佰仟万亿][零{_FORMAL}拾佰仟万亿]{{0,30}}+"
    rf"|(?=[元圆](?:[整正]|[零{_FORMAL}]+[角分]))|(?<!参)(?=角|(?<![伍陆])[元圆])))"
    rf"(?:(?P<yuan>[元圆])(?:零?(?P<jiao>[{_FORMAL}])角)?(?:零?(?P<fen>[{_FORMAL}])分)?[整正]?"
    r"|(?P<of_jiao>角)[整正]?)?"
)


def find_formal(text: str) -> Iterator[InDigits]:
    """Those of a text in simplified characters. Linear time."""
    for found in _FOUND.finditer(text):
        value = _value(found["whole"])
        if value is not None:
            yield InDigits(*found.span(), _in_digits(Decimal(value), found))


def in_usual(text: str) -> str:
    """A text in simplified characters with usual numerals for them, of the same length."""
    return _FOUND.sub(lambda found: found.group().translate(_USUAL), text)


def _value(formal: str) -> int | None:
    return chinese_value(formal.translate(_USUAL))


def _in_digits(value: Decimal, found: regex.Match[str]) -> str:
    if found["of_jiao"]:
        return f"{value / 10}元"
    tenths, hundredths = (_value(found[name] or "零") or 0 for name in ("jiao", "fen"))
    value += Decimal(tenths) / 10 + Decimal(hundredths) / 100
    return f"{value:,}{'元' if found['yuan'] else ''}"
