"""Full-width letters and digits are read as those of ASCII, in the same places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.language.widths import in_half_width


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("会议在１０：３０开始。", "会议在10:30开始。"),
        ("我的ｉＰｈｏｎｅ，Ａ－１", "我的iPhone，A-1"),
        ("￥１，２００．５０或５０％！", "￥1,200.50或50%！"),
        ("Ａ，Ｂ：（１）", "A，B：（1）"),
        ("你好，世界！10：30", "你好，世界！10：30"),
    ],
)
def test_signs_between_them_are_read_so_too(text: str, expected: str) -> None:
    assert in_half_width(text) == expected


@given(st.text("１Ａｚ：，．％－a1 中。", max_size=12))
def test_places_stay_and_nothing_is_left_to_read(text: str) -> None:
    once = in_half_width(text)
    assert len(once) == len(text)
    assert in_half_width(once) == once
    assert not set("１Ａｚ") & set(once)
