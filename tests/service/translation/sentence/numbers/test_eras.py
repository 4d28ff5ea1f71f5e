"""Chinese years before and after Christ go in as English ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.stages import Draft
from tests.service.translation.sentence.numbers.test_numerals import in_words
from tests.service.translation.sentence.test_abbreviations import is_looked_at


@given(st.integers(100, 9999), st.booleans(), st.booleans())
def test_a_year_keeps_its_era(year: int, is_before: bool, is_in_words: bool) -> None:
    written = in_words(year) if is_in_words else str(year)
    text = f"秦朝建立于公元{'前' if is_before else ''}{written}年。"
    stage = enter_abbreviations(text, "zh", "en")
    assert stage is not None
    assert stage.text == f"秦朝建立于{f'{year} BC' if is_before else f'AD {year}'}。"
    assert stage.leave(Draft(stage.text)).text == text
    assert is_looked_at(text, "zh")
    for other in ("前3世纪的公元年代", f"{year}年5月1日", f"{year}年五月"):
        assert enter_abbreviations(f"公元{other}", "zh", "en") is None
