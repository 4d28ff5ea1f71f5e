"""Chinese times as those of a whole day: networks lose that 下午3:20 is 15:20, that 4:00 is so in
下午2:30至4:00, and the minutes of 8点05分."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.translation.sentence.numbers.parts_of_day import PARTS, of_whole_day
from service.translation.sentence.replaced import Replacement

_OF_DAY = (
    rf"(?:(?P<{{0}}part>{PARTS['zh']})\s?)?"
    r"(?P<{0}hour>[01]?[0-9]|2[0-4])(?:[:：]|点(?=\d\d分))(?P<{0}minute>[0-5][0-9])分?+"
)
_TIME = regex.compile(
    rf"(?<![\d.第]|\d[:：]){_OF_DAY.format('')}(?:\s?[-–—~～至到]\s?{_OF_DAY.format('to_')})?"
    r"(?![\d:：钟])"
)
"""A time with minutes, or two."""
_HOURS = regex.compile(
    r"\s?[-–—~～至到]\s?".join(
        rf"(?P<part>{PARTS['zh']})\s?(?P<hour>[01]?[0-9])点(?P<minute>半?)" for _ in range(2)
    )
    + r"(?![\d钟一三])"
)
"""From an hour of one part of the day to one of another."""
_DAY = regex.compile(r"(?:周|星期|礼拜)[一二三四五六日天]\Z")
_LONGEST_DAY = 3
"""Without a space behind it, the networks lose the day."""


def find_chinese_hours(text: str) -> Iterator[Replacement]:
    """Those that networks know better in digits. The second of two times is of the first one's part
    of the day unless it has one of its own."""
    for found in _HOURS.finditer(text):
        times = zip(*map(found.captures, ("part", "hour", "minute")), strict=True)
        new = "-".join(
            f"{of_whole_day(int(hour), part, 'zh')}:{'30' if minute else '00'}"
            for part, hour, minute in times
        )
        yield Replacement(*found.span(), new)
    for found in _TIME.finditer(text):
        part, to_part = found["part"], found["to_part"] or found["part"]
        is_late = of_whole_day(int(found["hour"]), part, "zh") != int(found["hour"])
        start, end = found.start("part" if is_late else "hour"), found.end()
        new = _written(found, "", part)
        if found["to_hour"] is not None:
            new = f"{new}-{_written(found, 'to_', to_part)}"
        if _DAY.search(text, max(0, start - _LONGEST_DAY), start):
            new = f" {new}"
        if new != text[start:end]:
            yield Replacement(start, end, new)


def _written(found: regex.Match[str], which: str, part: str | None) -> str:
    hour = of_whole_day(int(found[f"{which}hour"]), part, "zh")
    return f"{hour}:{found[f'{which}minute']}"
