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
        "早": range(0),
        "晚": range(1, 12),
    },
}
"""By language, the hours beside each word that are of the day's second half."""
SHORT_PART = r"(?<![今明昨当每前后])[早晚](?![一两]点)"
"""早 and 晚 are none in 今晚 and 早一点, which is earlier."""
PARTS = {
    "de": "|".join(_IN_SECOND_HALF["de"]),
    "zh": "|".join([*(part for part in _IN_SECOND_HALF["zh"] if len(part) > 1), SHORT_PART]),
}
"""By language, the pattern of the words."""
MORNING = tuple(part for part, late in _IN_SECOND_HALF["zh"].items() if not late)


def of_whole_day(hour: int, part: str | None, language: str) -> int:
    """The hour of a part of the day, from 0 to 24; without one, the hour itself."""
    late = _IN_SECOND_HALF[language].get(part or "", range(0))
    return hour + _HALF * (hour in late)
