"""Words for a part of the day, in German behind an hour and in Chinese before it."""

from __future__ import annotations

_HALF = 12
_IN_SECOND_HALF = {
    "de": {
        "morgens": range(0),
        "früh": range(0),
        "vormittags": range(0),
        "mittags": range(1, 4),
        "nachmittags": range(1, 12),
        "abends": range(1, 12),
        "nachts": range(8, 13),
    },
    "zh": {
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
    },
}
"""By language, the hours beside each word that are of the day's second half."""
PARTS = {language: "|".join(parts) for language, parts in _IN_SECOND_HALF.items()}
"""By language, the pattern of the words."""


def of_whole_day(hour: int, part: str | None, language: str) -> int:
    """The hour of a part of the day, from 0 to 24; without one, the hour itself."""
    late = _IN_SECOND_HALF[language].get(part or "", range(0))
    return hour + _HALF * (hour in late)
