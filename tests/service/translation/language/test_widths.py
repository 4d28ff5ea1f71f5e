"""Full-width letters and digits are read as those of ASCII, in the same places."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.language.widths import in_half_width
from service.translation.sentence.rendering import render
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself


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


@pytest.mark.parametrize("numeral", [chr(0x2160 + n) for n in range(32)])
def test_a_roman_numeral_is_kept_and_written_in_letters(numeral: str) -> None:
    """Networks take one for another."""
    for text in (f"第{numeral}章", f"{numeral}型糖尿病"):
        parsed, (entry,) = prepared(text, pair=("zh", "en"))
        assert numeral not in entry.text
        draft = leave(entry.stages, to_itself(entry.text))
        assert draft is not None
        written = "".join(map(str, parsed.join([render(parsed.sentences[0], draft, {})])))
        assert unicodedata.normalize("NFKC", numeral) in written
