"""Chinese times as those of a whole day: networks lose that 下午3:20 is 15:20, that 4:00 is so in
下午2:30至4:00, and the minutes of 8点05分."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.replaced import Replacement

_HALF = 12
_SECOND_HALF = {
    "凌晨": range(0),
    "清晨": range(0),
    "早上": range(0),
    "早晨": range(0),
    "上午": range(0),
    "中午": range(1, 4),
    "下午": range(1, 12),
    "傍晚": range(1, 12),
    "晚上": range(1, 12),
    "夜里": range(8, 12),
    "深夜": range(8, 12),
}
"""Words for a part of the day, and the hours behind them that are of its second half."""
_OF_DAY = (
    rf"(?:(?P<{{0}}part>{'|'.join(_SECOND_HALF)})\s?)?"
    r"(?P<{0}hour>[01]?[0-9]|2[0-4])(?:[:：]|点(?=\d\d分))(?P<{0}minute>[0-5][0-9])分?+"
)
_TIME = regex.compile(
    rf"(?<![\d.第]|\d[:：]){_OF_DAY.format('')}(?:\s?[-–—~～至到]\s?{_OF_DAY.format('to_')})?"
    r"(?![\d:：钟])"
)
"""A time with minutes, or two."""
_DAY = regex.compile(r"(?:周|星期|礼拜)[一二三四五六日天]\Z")
_LONGEST_DAY = 3
"""Without a space behind it, the networks lose the day."""


def find_chinese_hours(text: str) -> Iterator[Replacement]:
    """Those that networks know better in digits. The second of two times is of the first one's part
    of the day unless it has one of its own."""
    for found in _TIME.finditer(text):
        part, to_part = found["part"], found["to_part"] or found["part"]
        is_late = part is not None and int(found["hour"]) in _SECOND_HALF[part]
        start, end = found.start("part" if is_late else "hour"), found.end()
        new = _written(found, "", part)
        if found["to_hour"] is not None:
            new = f"{new}-{_written(found, 'to_', to_part)}"
        if _DAY.search(text, max(0, start - _LONGEST_DAY), start):
            new = f" {new}"
        if new != text[start:end]:
            yield Replacement(start, end, new)


def _written(found: regex.Match[str], which: str, part: str | None) -> str:
    hour = int(found[f"{which}hour"])
    late = _SECOND_HALF[part] if part else range(0)
    return f"{hour + _HALF * (hour in late)}:{found[f'{which}minute']}"
